"""Where the results are kept."""
from __future__ import annotations

from pathlib import Path

RESULTS = Path(__file__).parents[2] / "conformance.json"
