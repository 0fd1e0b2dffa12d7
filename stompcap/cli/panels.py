"""The groups in which the help lists the commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer
    from typer.models import CommandInfo, TyperInfo

PANELS = {
    "Look into captures": ("peek", "check", "rules", "dissector"),
    "Fill a lake": ("run", "watch", "extract", "decode", "correlate", "metrics", "validate"),
    "Ask a lake": ("show", "report", "sql", "export", "register"),
    "Look after a lake": ("maintain", "forget", "repair"),
    "Make traffic": ("proxy", "drive", "serve", "generate"),
    "This machine": ("doctor", "prepare", "completion", "manual"),
}
"""The commands of each group, in the order of the help."""


def arrange(app: typer.Typer) -> None:
    """Bring the commands of an application into these groups; one that is in none is listed first, under `Commands`."""
    panel_of = {name: panel for panel, names in PANELS.items() for name in names}
    order = {name: number for number, name in enumerate(panel_of)}
    infos: list[CommandInfo | TyperInfo] = [*app.registered_commands, *app.registered_groups]
    for one in infos:
        one.rich_help_panel = panel_of.get(_name(one))
    app.registered_commands.sort(key=lambda one: order.get(_name(one), -1))


def _name(one: CommandInfo | TyperInfo) -> str:
    return str(one.name or getattr(one.callback, "__name__", ""))
