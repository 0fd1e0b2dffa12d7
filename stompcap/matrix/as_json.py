"""A matrix as JSON: all of it, exact names, octets in base64."""

from __future__ import annotations

import base64
import json
from typing import Any

from stompcap.matrix.model import Cell, Matrix
from stompcap.tables.levels import spelled

FORM = 1
"""Rises where a field comes to mean something else."""


def written(matrix: Matrix) -> str:
    """The object as text; ends in a newline."""
    return json.dumps(as_object(matrix), indent=1, ensure_ascii=True) + "\n"


def as_object(matrix: Matrix) -> dict[str, Any]:
    """The object that is written."""
    return {
        "form": FORM,
        "side": matrix.subjects.side,
        "by": list(matrix.subjects.by),
        "left_out": matrix.left_out,
        "unnamed_sessions": matrix.unnamed,
        "products": [
            {
                **dict(zip(matrix.subjects.by, column.key, strict=True)),
                "name": column.name,
                "sessions": column.sessions,
                "versions": {version or "unknown": number for version, number in column.versions.items()},
                "must_kept": matrix.musts(at)[0],
                "must_judged": matrix.musts(at)[1],
            }
            for at, column in enumerate(matrix.columns)
        ],
        "rules": [
            {
                "rule": rule.id, "level": spelled(rule.level_text), "side": rule.side, "title": rule.title,
                "cells": [_cell(one) for one in cells],
            }
            for rule, cells in matrix.rows
        ],
    }  # fmt: skip


def _cell(cell: Cell) -> dict[str, Any]:
    found: dict[str, Any] = {"status": cell.status.replace(" ", "_"), "occasions": cell.occasions, "sessions": cell.sessions}
    if cell.shared:
        found["shared"] = True
    if cell.broken:
        found["broken"] = [{"level": level, "findings": findings, "sessions": number} for level, findings, number in cell.broken]
    if cell.proof:
        octets = cell.proof.octets
        found["proof"] = {**vars(cell.proof), "octets": None if octets is None else base64.b64encode(octets).decode("ascii")}
    return found
