"""Who comes first and who may have more: orders, shares, levels of queues, quotas."""
