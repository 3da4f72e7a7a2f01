"""The scheduler's I/O: informers in, binds, evictions, statuses and events out. Nothing else here talks to a server."""
