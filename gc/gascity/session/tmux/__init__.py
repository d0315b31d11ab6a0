"""What every tmux has in common wherever it runs: commands, screens, keys and messages.

A provider whose sessions live in tmux brings the way to its server (`contract.Tmux`); how sessions
are made, found and watched there is its own.
"""
