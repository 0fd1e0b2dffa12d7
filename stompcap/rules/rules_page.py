"""docs/rules.md, written from the catalogue: `python -m stompcap.rules.rules_page > docs/rules.md`."""

from __future__ import annotations

import sys
from dataclasses import fields

from stompcap.rules.catalogue import CHAPTERS, RULES
from stompcap.rules.explain import OBSERVED
from stompcap.rules.record import Rule
from stompcap.settings import Quality, Thresholds
from stompcap.tables.levels import spelled

HEAD = """# Compliance rules

Every session is held against these {count} rules. A rule is judged at each opportunity to break it: the answer is pass,
fail or not evaluable, the last where a capture like this proves neither (its start is missing, octets are lost, the
version is not known). `compliance` counts opportunities per session and rule, `compliance_findings` has a row per
failure.

Many rules name pitfalls: what looks like a breach and is none, and which brokers or libraries are known for one. The
former are left out of the findings or reported at a milder level.

Level: what the specification says, MUST or SHOULD; INFO is worth knowing and no violation. Of two levels the second holds in the
milder circumstances that the text of the rule names. Tables and settings have the first letters, M, S and I.

In the examples `C:` and `S:` are the client's and the server's octets; `⏎` is a line feed, `␍` a carriage return, `␀`
the NUL, `\\xHH` another octet. `in 1.2` stands for a CONNECT and a CONNECTED that agree on that version.

This page is written from the rules themselves: `python -m stompcap.rules.rules_page`.
"""

SETTINGS = """## Settings

`--settings FILE` on `stompcap run`, `stompcap metrics` and the jobs of the same names reads a TOML file that switches
rules off, gives them another level and moves the thresholds. `stompcap rules list --settings FILE` shows what is then in
force. What was judged before stays as it was judged.

```toml
[rules."FR-20"]
enabled = false

[rules."CN-05"]
level = "I"        # or "M", "S"; "M/I" keeps the milder level for milder circumstances

[thresholds]
receipt_wait_s = 30
```

| threshold | default | what it decides |
| --- | --- | --- |
{thresholds}

Table `quality` has thresholds of the lake's quality, for `stompcap run`, `stompcap watch` and `stompcap validate`. Without one nothing is
judged by it; one that is exceeded trips the gate `--fail-on quality`. It also weighs single expectations, switches them off and adds your
own: [quality.md](quality.md#switch-off-or-weigh).

```toml
[quality]
newest_packet_s = 86400
lost_ratio = 0.01
```

| threshold | what is expected |
| --- | --- |
{quality}

Table `secrets` names headers that are secret, and headers that are not ([secrets.md](secrets.md#names-of-your-own)).
"""


def document() -> str:
    """The page, Markdown."""
    parts = [HEAD.format(count=len(RULES)), _settings(), _overview()]
    for chapter in CHAPTERS:
        parts.append(f"## {chapter.title}\n")
        parts.extend(_section(rule) for rule in chapter.rules)
    return "\n".join(parts)


def _settings() -> str:
    return SETTINGS.format(
        thresholds="\n".join(f"| `{f.name}` | {f.default:g} | {f.metadata['meaning']} |" for f in fields(Thresholds)),
        quality="\n".join(f"| `{f.name}` | {f.metadata['meaning']} |" for f in fields(Quality) if f.metadata),
    )


def _overview() -> str:
    lines = ["| rule | level | versions | who | what |", "| --- | --- | --- | --- | --- |"]
    for r in RULES:
        facts = f"{spelled(r.level_text)} | {', '.join(r.versions)} | {r.side} | {_plain(r.title)}"
        lines.append(f"| [{r.id}](#{r.id.lower()}) | {facts} |")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Text whose backslashes and pipes Markdown leaves alone."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*")


def _section(rule: Rule) -> str:
    facts = f"{spelled(rule.level_text)}; versions {', '.join(rule.versions)}; {rule.side}; judged by {OBSERVED[rule.observed]}."
    parts = [f"### {rule.id}", f"**{_plain(rule.title)}.** {facts} Clause: {rule.clause}.", _plain(rule.explanation)]
    if rule.pitfalls:
        parts.append(f"Pitfalls: {_plain(rule.pitfalls)}")
    if rule.breaks:
        parts.append(f"Breaks it:\n\n```text\n{rule.breaks}\n```")
    parts.append(f"Keeps it:\n\n```text\n{rule.keeps}\n```")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())
