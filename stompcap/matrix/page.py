"""A matrix as one HTML page that loads nothing and has no script; a cell that is broken unfolds to its proof.

Peers chose names, evidence and octets: each is escaped, and characters that do not print are shown as escapes (stompcap.visible).
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files

from stompcap.matrix import wording
from stompcap.matrix.model import Cell, Column, Matrix, Proof
from stompcap.rules.record import Rule
from stompcap.tables.levels import spelled

IN_A_LINE = 16  # octets of a line of a dump
POLICY = "default-src 'none'; style-src 'sha256-{style}'; img-src data:; base-uri 'none'; form-action 'none'"
HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<p>✓ kept, with the number of occasions on which it was judged; ✗ broken, on how many of them. A cell that is broken unfolds to its first
finding: where it is, what was seen, the bytes. A rule that a product's sessions never tried is not judged, which says nothing for or
against it; INFO is worth knowing and no violation.
<code>stompcap rules explain ID</code> explains a rule.</p>
"""


def written(matrix: Matrix) -> str:
    """The page."""
    style = files(__package__).joinpath("page.css").read_text("utf-8")
    policy = POLICY.format(style=b64encode(sha256(style.encode()).digest()).decode())
    title = f"STOMP rules kept and broken by {wording.WHO[matrix.subjects.side]}s"
    parts = [HEAD.format(title=title, style=style, policy=policy), _table(matrix)]
    if matrix.untried:
        parts.append(f"<p>Not judged for any of them: {', '.join(_rule(rule) for rule in matrix.untried)}.</p>")
    parts += [f"<p>{escape(one)}</p>" for one in wording.remarks(matrix)]
    return "\n".join([*parts, "</body>", "</html>", ""])


def _table(matrix: Matrix) -> str:
    heads = "".join(f'<th scope="col">{_head(column)}</th>' for column in matrix.columns)
    lines = ["<table>", f'<thead><tr><th scope="col">rule</th><th scope="col">level</th>{heads}</tr></thead>']
    musts = "".join(f"<td>{wording.totals(matrix, at)}</td>" for at in range(len(matrix.columns)))
    lines.append(f'<tbody><tr><th scope="row">MUST rules kept, of those judged</th><td></td>{musts}</tr></tbody>')
    for family, rows in matrix.families:
        lines.append(f'<tbody><tr><th class="family" scope="rowgroup" colspan="{2 + len(matrix.columns)}">{escape(family)}</th></tr>')
        for rule, cells in rows:
            told = "".join(_cell(cell) for cell in cells)
            lines.append(f'<tr><th scope="row">{_rule(rule)} {escape(rule.title)}</th><td>{spelled(rule.level_text)}</td>{told}</tr>')
        lines.append("</tbody>")
    return "\n".join([*lines, "</table>"])


def _head(column: Column) -> str:
    named = [f"{number:,} of {version}" for version, number in column.versions.items() if version]
    told = f"{column.sessions:,} sessions" + (f"<br>{escape(', '.join(named))}" if named else "")
    return f"{escape(wording.name_of(column.name))}<small><br>{told}</small>"


def _rule(rule: Rule) -> str:
    return f'<abbr title="{escape(rule.title)}">{rule.id}</abbr>'


def _cell(cell: Cell) -> str:
    told, at_most = escape(wording.in_words(cell)), wording.SHARED if cell.shared else ""
    if cell.proof is None:
        shown = f"{at_most}{cell.occasions:,}" if cell.occasions else cell.status
        return f'<td class="{cell.status.replace(" ", "-")}" title="{told}">{shown}</td>'
    level, findings, _ = cell.broken[0]
    shown = f"{findings:,} of {at_most}{cell.occasions:,}" + ("" if level == "MUST" else f" {level}")
    return f'<td class="{level.lower()}"><details><summary>{shown}</summary><p>{told}</p>{_proof(cell.proof)}</details></td>'


def _proof(proof: Proof) -> str:
    parts = [f"<p>{escape(wording.where(proof))}</p>"]
    parts += [f"<p>{escape(wording.evidence(proof))}</p>"] if proof.evidence else []
    parts += [f"<pre>{_dump(proof.octets)}</pre>"] if proof.octets else []
    return "".join(parts)


def _dump(octets: bytes) -> str:
    """Lines of offset, octets in hexadecimal and as ASCII, as Wireshark has them."""
    lines = []
    for at in range(0, len(octets), IN_A_LINE):
        some = octets[at : at + IN_A_LINE]
        shown = "".join(chr(one) if 32 <= one < 127 else "." for one in some)
        lines.append(f"{at:04x}  {some.hex(' '):<{3 * IN_A_LINE - 1}}  {escape(shown)}")
    return "\n".join(lines)
