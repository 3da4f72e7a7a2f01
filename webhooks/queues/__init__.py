"""Queues: what they get, what they may say, where they may stand in the tree, and when they may go (webhooks.md 6)."""
