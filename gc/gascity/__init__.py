"""Gas City: a declared city of coding agents, kept alive."""

__version__ = "0.1.0"
