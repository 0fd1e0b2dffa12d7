"""The formats of a verdict, each a module of its own that is loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module

from stompcap.checking.verdict import Verdict

FORMATS = {"text": "text", "json": "as_json", "junit": "junit", "sarif": "sarif", "github": "github", "md": "markdown"}


def written(verdict: Verdict, form: str, *, colours: bool = False) -> str:
    """The verdict in one of FORMATS; `colours` are for text alone."""
    module = import_module(f"stompcap.checking.{FORMATS[form]}")
    text: str = module.written(verdict, colours=colours) if form == "text" else module.written(verdict)
    return text
