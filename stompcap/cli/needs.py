"""Which extra a command needs: it is asked for before the command begins, so that nothing is half done; --help needs none."""

from __future__ import annotations

from collections.abc import Sequence

from stompcap import extras

HELP = ("-h", "--help")
NEEDS = {
    extras.SPARK: (
        "run", "extract", "decode", "correlate", "metrics", "validate", "watch", "register", "maintain", "forget", "repair",
    ),
    extras.LAKE: ("show", "sql", "report", "export", "rules compare --lake", "doctor --lake"),
}  # fmt: skip
"""By extra the commands, as their first words. All others need no more than `pip install stompcap`."""


def demand(words: Sequence[str]) -> None:
    """Raise EnvironmentProblem where a command line needs an extra that is not installed."""
    if any(word in HELP for word in words):
        return
    for extra, commands in NEEDS.items():
        for one in commands:
            name, *more = one.split()
            if words[:1] == [name] and all(any(word.split("=")[0] == other for word in words[1:]) for other in more):
                extras.demand(extra, f"stompcap {name}")
