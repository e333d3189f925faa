"""The trusted side of the sandbox: isolation levels, and the process that forks its children."""
