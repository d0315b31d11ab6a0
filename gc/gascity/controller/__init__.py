"""What acts: one thread that owns all state, and workers that make the blocking calls."""
