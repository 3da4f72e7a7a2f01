"""Where pods go: identical ones as a run, interleaved ones cell by cell, with the outcome of one after the other."""
