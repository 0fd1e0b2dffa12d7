"""What brokers, and client libraries, broke themselves: the findings of a side by its product, beside the occasions judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stompcap.units import NOTHING, count, share

Rows = list[dict[str, Any]]
Product = str | None

COLUMNS = 6  # products that have a column of their own


@dataclass(frozen=True)
class Products:
    """The products of a side that were judged most often; findings by rule, level and product; occasions by rule and product.

    `shared` are rules of both sides, whose occasions are counted together.
    """

    names: list[Product]
    findings: dict[tuple[str, str, Product], int]
    judged: dict[tuple[str, Product], int]
    shared: set[str]

    def cell(self, rule: str, level: str, product: Product) -> str:
        """How often a product broke a rule at a level, as the page shows it."""
        found, judged = self.findings.get((rule, level, product), 0), self.judged.get((rule, product), 0)
        if not found:
            return "0" if judged else NOTHING
        return count(found) if rule in self.shared or not judged else f"{share(found, judged)} ({count(found)})"

    def broke(self, rule: str, level: str, product: Product) -> bool:
        """Whether it did."""
        return (rule, level, product) in self.findings


def of(side: str, answers: dict[str, Rows]) -> Products:
    """The products of a side, from the answers to `product_findings` and `product_judged`."""
    occasions = [row for row in answers["product_judged"] if row["side"] == side]
    broken = [row for row in answers["product_findings"] if row["side"] == side]
    findings = {(row["rule_id"], row["level"], row["product"]): row["findings"] for row in broken}
    total: dict[Product, int] = dict.fromkeys((product for _, _, product in findings), 0)
    for row in occasions:
        total[row["product"]] = total.get(row["product"], 0) + row["judged"]
    names = sorted(total, key=lambda name: (-total[name], name or ""))[:COLUMNS]
    judged = {(row["rule_id"], row["product"]): row["judged"] for row in occasions}
    return Products(names, findings, judged, {row["rule_id"] for row in occasions if row["who"] == "both"})
