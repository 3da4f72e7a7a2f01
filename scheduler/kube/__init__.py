"""Kubernetes' own filters and scores (1.36 semantics, plugins.md 18), as array functions without any plugin around."""
