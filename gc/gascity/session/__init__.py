"""Where sessions live: the provider contract and what all providers share."""
