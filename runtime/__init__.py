"""The machine: API client, informers, queues, election, admission server. Knows no kind by name."""
