"""docs/conformance.md from data/conformance.json: `python -m data.recorder.conformance.page > docs/conformance.md`."""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from data.recorder.conformance.results import RESULTS

CELLS = {"passed": "✓", "failed": "**✗**", "not judged": "–"}
HEAD = """# Brokers and clients, case by case

What [`stompcap drive` and `stompcap serve`](active.md) found: three brokers with their settings as they come, and three client libraries in
programs of a few lines (`data/recorder/conformance`) that leave all to the library. ✓ passed, **✗** failed,
– not judged, because what the case needs did not come about. A failed case is a link to its bytes and to the clause of the specification.

The level is that of the case: MUST where the specification says so to the side that is judged, SHOULD where it says so or where
a frame that must not be sent is accepted all the same, INFO where nothing demands it. Nothing here says how a product fares beyond
these cases.
"""
TITLES = {"server": "Brokers", "client": "Clients"}
LIMIT = 700


def shown(octets: str) -> str:
    """Octets as a line of a code block: each line end, NUL and byte beyond ASCII as an escape; it cannot end the block."""
    text = "".join(one if " " <= one <= "~" else {"\n": "\\n", "\r": "\\r", "\0": "\\0"}.get(one, f"\\x{ord(one):02x}") for one in octets)
    return (text if len(text) <= LIMIT else f"{text[:LIMIT // 2]} ... {text[-LIMIT // 2:]}").replace("```", "` ` `")


def escaped(text: str) -> str:
    """Text for a cell or a paragraph of Markdown: what comes from the wire is never markup."""
    visible = "".join(one if one.isprintable() else shown(one) for one in text)
    for one, other in (("\\", "\\\\"), ("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("`", "\\`"), ("*", "\\*"), ("_", "\\_"), ("[", "\\[")):
        visible = visible.replace(one, other)
    return visible


def anchor(product: str, case: str) -> str:
    """The name of a failed case's heading."""
    return f"{product} {case}".lower().replace(".", "").replace(" ", "-")


def table(products: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Cases by products."""
    yield "| case | level | rules | " + " | ".join(product["product"] for product in products) + " |"
    yield "| --- | --- | --- |" + " :-: |" * len(products)
    by_case = [{row["case"]: row for row in product["cases"]} for product in products]
    for name, row in by_case[0].items():
        cells = []
        for product, rows in zip(products, by_case, strict=True):
            found = rows.get(name)
            cell = CELLS[found["outcome"]] if found else ""
            cells.append(f"[{cell}](#{anchor(product['product'], name)})" if found and found["outcome"] == "failed" else cell)
        yield f"| {name} | {row['level']} | {', '.join(row['rules'])} | " + " | ".join(cells) + " |"
    counts = [sum(row["outcome"] == "failed" for row in rows.values()) for rows in by_case]
    yield "| **failed** | | | " + " | ".join(f"{count} of {len(rows)}" for count, rows in zip(counts, by_case, strict=True)) + " |"


def failures(product: Mapping[str, Any]) -> Iterator[str]:
    """Each failed case of a product: what had to be, what was, the bytes."""
    for row in product["cases"]:
        if row["outcome"] != "failed":
            continue
        yield f"\n#### {product['product']} {row['case']}\n"
        yield f"{row['level']}, {', '.join(row['rules'])}: {escaped(row['must'])} ({escaped(row['clause'])}). {escaped(row['reason'])}.\n"
        yield "```text"
        for piece in row["proof"]:
            yield f"{'<' if piece['from'] == 'peer' else '>'} {shown(piece['octets'])}"
        yield "```"


def page(found: Mapping[str, Any]) -> str:
    """The page."""
    lines = [HEAD]
    for side, title in TITLES.items():
        products = [product for product in found.values() if product["side"] == side]
        if not products:
            continue
        lines += [f"## {title}\n", *table(products), ""]
        lines += [f"### What {title.lower()} failed at\n", "`>` is stompcap, `<` the product; passcodes are masked."]
        for product in products:
            lines += failures(product)
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(json.loads(RESULTS.read_text())), end="")
