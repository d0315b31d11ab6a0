"""Incarnations and one-shot jobs: their ids and their records."""
