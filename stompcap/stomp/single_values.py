"""Secrets in single values, for what shows frames one by one."""

from __future__ import annotations

import re

from stompcap.stomp.grammar import LENIENT_NAMES, MASK, SECRET
from stompcap.stomp.secret_names import STEMS, WORDS

TOKEN = re.compile(r"(?<![\w.-])eyJ[\w-]*\.[\w.=-]*\.[\w.=-]*", re.ASCII)
USER = re.compile(r"(\w:)//[^\s/\"'<>]+@", re.ASCII)
SEPARATORS = re.compile("[-_.]")


def is_secret_name(name: str) -> bool:
    """Whether a header of that name is secret by default."""
    letters = SEPARATORS.sub("", name.strip().lower())
    if letters != SECRET and letters in {SEPARATORS.sub("", known) for known in LENIENT_NAMES}:
        return False
    return letters in WORDS or any(stem in letters for stem in STEMS)


def without_secrets(name: str, value: str | None) -> str | None:
    """A header's value as it may be shown."""
    if value is None:
        return None
    return MASK if is_secret_name(name) else USER.sub(rf"\1//{MASK}@", TOKEN.sub(MASK, value))
