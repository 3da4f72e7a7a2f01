"""What is told of a cycle: messages, outcomes, metrics, times."""
