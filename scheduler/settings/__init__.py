"""The command line and the configuration of the scheduler, read, checked and reloaded."""
