"""A real cluster for tests: where it is, a namespace of one's own, and a line that can be cut."""
