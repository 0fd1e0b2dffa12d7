"""The formats of a matrix, each a module of its own that is loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module

from stompcap.matrix.model import Matrix

FORMATS = {"text": "text", "html": "page", "md": "markdown", "json": "as_json"}


def written(matrix: Matrix, form: str, width: int = 80) -> str:
    """The matrix in one of FORMATS; `width` is the terminal's, for text alone."""
    module = import_module(f"stompcap.matrix.{FORMATS[form]}")
    text: str = module.written(matrix, width) if form == "text" else module.written(matrix)
    return text
