"""Hooks: what coding tools are made to call when they begin to work, wait or are done."""
