"""`completion` and `manual`: what shells and man(1) know of the commands, made from their help."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from stompcap.cli.application import CODES, NAME
from stompcap.errors import UsageError
from stompcap.visible import visible

SHELLS = ("bash", "zsh", "fish")
Shell = Annotated[str, typer.Argument(metavar="SHELL", help=", ".join(SHELLS), show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(completion)
    app.command()(manual)


def completion(shell: Shell) -> None:
    """Print the completion script of a shell: source <(stompcap completion bash)."""
    from typer._completion_shared import get_completion_script

    if shell not in SHELLS:
        raise UsageError(f"{visible(shell, 20)}: must be one of {', '.join(SHELLS)}")
    print(get_completion_script(prog_name=NAME, complete_var=f"_{NAME.upper()}_COMPLETE", shell=shell))


def manual(context: typer.Context) -> None:
    """Print the manual page: stompcap manual | man -l -."""
    from stompcap.version import version

    sys.stdout.write(page(context.find_root().command, version()))


def page(command: Any, version: str) -> str:
    """The manual page of a command and its commands, in the macros of man(7)."""
    lines = [f'.TH {NAME.upper()} 1 "" "{NAME} {_roff(version)}" "User Commands"', ".SH NAME", f"{NAME} \\- {_roff(_first(command.help))}",
             ".SH SYNOPSIS", f".B {NAME}", r"\fICOMMAND\fR [\fIOPTION\fR]...", ".SH COMMANDS"]  # fmt: skip
    for words, one in commands(command, ()):
        lines += [f'.SS "{_roff(" ".join((NAME, *words, *arguments(one))))}"', _roff(one.help or "")]
        for option in one.params:
            if option.param_type_name == "option" and not option.hidden:
                lines += [".TP", rf"\fB{_roff(names_of(option))}\fR", _roff(option.help or "")]
    lines += [".SH EXIT STATUS", _roff(CODES.removeprefix("Exit codes: "))]
    return "\n".join(lines) + "\n"


def commands(group: Any, before: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    """All commands below a group, with their words."""
    found: list[tuple[tuple[str, ...], Any]] = []
    for name, one in sorted(group.commands.items()):
        if not one.hidden:
            found += commands(one, (*before, name)) if hasattr(one, "commands") else [((*before, name), one)]
    return found


def arguments(command: Any) -> list[str]:
    """The words for a command's arguments."""
    return [option.metavar or option.name.upper() for option in command.params if option.param_type_name == "argument"]


def names_of(option: Any) -> str:
    """An option's names, and of one that takes a value the word for it."""
    names = ", ".join((*option.opts, *option.secondary_opts))
    return names if option.is_flag else f"{names} {option.metavar or 'VALUE'}"


def _first(text: str | None) -> str:
    return (text or "").splitlines()[0].rstrip(".")


def _roff(text: str) -> str:
    """Text without what troff takes for a request or an escape."""
    lines = (line.strip() for line in text.replace("\\", r"\e").replace("-", r"\-").splitlines())
    return "\n".join(rf"\&{line}" if line.startswith((".", "'")) else line for line in lines if line)
