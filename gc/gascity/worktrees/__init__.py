"""Issue work: several agents on one issue, each in a git worktree of its own."""
