"""The page of brokers side by side, of a few rows."""

from __future__ import annotations

from stompcap.report.compare import page

SEEN = [{"server_product": "A", "version": "1.2", "sessions": 1200}, {"server_product": "A", "version": None, "sessions": 1},
        {"server_product": "B", "version": "1.1", "sessions": 2}]  # fmt: skip
RULES = [{"id": name, "level": "M", "versions": "1.2", "side": "server", "title": f"Title|{name}"} for name in ("R-3", "R-1", "R-2", "R-4")]


def count(rule: str, product: str, judged: int, broken: int = 0, inform: int = 0) -> dict[str, object]:
    return {"rule_id": rule, "server_product": product, "sessions": 9, "judged": judged,
            "broken_M": broken, "breaking_M": min(broken, 3), "broken_S": 0, "breaking_S": 0,
            "broken_I": inform, "breaking_I": inform}  # fmt: skip


COUNTS = [count("R-1", "A", 1000), count("R-2", "A", 50, 5, 1), count("R-2", "B", 7), count("R-3", "A", 0), count("R-1", "B", 0)]


def test_broken_and_kept_rules_stand_apart_in_order() -> None:
    text = page(["A", "B"], SEEN, RULES, COUNTS)
    assert "| sessions | 1,201 (1,200 of 1.2) | 2 (2 of 1.1) |" in text
    broken, kept = text.split("## Kept by both")
    assert "| R-2 | MUST | Title\\|R-2 | **5** of 50, in 3 of 9 sessions | kept, 7 |" in broken
    assert "| R-2 | INFO | Title\\|R-2 | **1** of 50, in 1 of 9 sessions | kept, 7 |" in broken
    assert "| R-1 | MUST | Title\\|R-1 | kept, 1,000 | not judged |" in kept
    assert "R-3" not in text
    assert "R-4" not in text


def test_nothing_broken_is_said() -> None:
    text = page(["B"], SEEN, RULES, [count("R-2", "B", 7)])
    assert text.startswith("# Rules kept and broken by B\n")
    assert "None." in text
    assert "## Kept by it" in text
