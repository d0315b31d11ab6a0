"""The names of pods and labels: what Kubernetes takes, and never the same for two sessions.

A pod's name is readable as far as that goes and ends with a short hash of the city's id and the
session's true name, which stands in an annotation: two sessions never share a pod, whatever their
names become in lower case and 63 characters.
"""

from __future__ import annotations

import hashlib
import re

from gascity.errors import ProviderError

LONGEST = 63  # characters of a DNS label, and of a label's value
DIGEST = 10

DOMAIN = "gascity.dev"
CITY = f"{DOMAIN}/city"
CITY_ID = f"{DOMAIN}/city-id"
AGENT = f"{DOMAIN}/agent"
SESSION = f"{DOMAIN}/session"
WORK_DIR = f"{DOMAIN}/work-dir"
STAGED = f"{DOMAIN}/staged"
TOKEN = f"{DOMAIN}/token"
META = f"meta.{DOMAIN}/"

# What tools made for Gas City look for.
APP_LABEL, APP = "app", "gc-agent"
SESSION_LABEL, AGENT_LABEL = "gc-session", "gc-agent"
SESSION_ANNOTATION = "gc-session-name"

_NOT_DNS = re.compile(r"[^a-z0-9]+")
_NOT_LABEL = re.compile(r"[^A-Za-z0-9_.-]+")
_KEY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def pod_name(city_id: str, session: str) -> str:
    """Return the name of a session's pod: a DNS label that no other session of any city has."""
    digest = hashlib.sha256(f"{city_id}\0{session}".encode()).hexdigest()[:DIGEST]
    plain = _NOT_DNS.sub("-", session.lower()).strip("-")
    kept = plain[: LONGEST - DIGEST - 1].rstrip("-") or "gc"
    return (
        f"{kept}-{digest}" if kept[0].isalpha() else f"gc-{kept[: LONGEST - DIGEST - 4]}-{digest}"
    )


def label(text: str) -> str:
    """Return a text as the value of a label: for people and their selectors, never for us."""
    return _NOT_LABEL.sub("-", text)[:LONGEST].strip("-_.")


def owner(city_id: str) -> str:
    """Return the value of the label by which a city knows its pods."""
    if len(city_id) <= LONGEST and label(city_id) == city_id and city_id:
        return city_id
    return hashlib.sha256(city_id.encode()).hexdigest()[:LONGEST]


def selector(city_id: str) -> str:
    """Return the label selector that finds the pods of a city and no others."""
    return f"{CITY_ID}={owner(city_id)}"


def annotation(key: str) -> str:
    """Return the annotation that holds a key of a session's metadata."""
    if not _KEY.fullmatch(key):
        raise ProviderError(f"{key!r} cannot be a key of a pod's metadata")
    return META + key
