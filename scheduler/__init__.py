"""The session scheduler: a pure cycle over columns of state, with I/O only in `cache`."""
