"""Real guests for tests: a daemon on this machine stands for the one in a VM."""
