"""Where the results are kept, and how: a line a case."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "conformance.json"


def written(found: Mapping[str, Mapping[str, Any]]) -> str:
    """The results of products as JSON."""
    products = []
    for name, result in found.items():
        head = json.dumps({key: value for key, value in result.items() if key != "cases"})[:-1]
        cases = ",\n  ".join(json.dumps(case) for case in result["cases"])
        products.append(f' {json.dumps(name)}: {head}, "cases": [\n  {cases}\n ]}}')
    return "{\n" + ",\n".join(products) + "\n}\n"
