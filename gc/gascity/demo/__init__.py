"""A harmless interactive agent, so that everything can be tried without an account."""
