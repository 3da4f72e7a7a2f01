"""Pods of other workloads: what the admission configuration adds to them, and rules for their annotations."""
