"""Shipped for provider authors: a fake provider, a fake clock, the conformance suite."""
