"""What to say of a word that nobody knows: the one that was meant, where one is near."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], *, otherwise: str) -> str:
    """Return a hint that names the known word nearest to this one, or `otherwise` if none is."""
    import difflib  # only where something is wrong

    near = difflib.get_close_matches(word, sorted(known), n=1)
    return f'did you mean "{near[0]}"?' if near else otherwise
