"""
The command line: `vcctl` and the short commands `vsub`, `vjobs`, `vqueues`, `vcancel`, `vsuspend` and `vresume`.

A process lives for one command, so start-up counts: `cli.tree` declares every command as data, and a command's module
is imported only when it runs. Help, completion and wrong flags are answered without the API client.
"""
