"""PodGroups: the queue that their namespace gives them, and whether it takes them (webhooks.md 7)."""
