"""`vc-agent-scheduler`: the fast path for single pods, without PodGroups, queues and preemption (scheduler.md 17)."""
