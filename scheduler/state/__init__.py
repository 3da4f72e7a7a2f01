"""What the scheduler knows: nodes as columns, jobs and queues with running totals. No I/O, no clock."""
