"""Who leaves for whom: victims, the proof that their room is enough, and the nominations that keep it."""
