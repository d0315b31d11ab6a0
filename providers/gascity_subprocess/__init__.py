"""Sessions as plain child processes, kept by one small process of their own per city."""
