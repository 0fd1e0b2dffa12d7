"""Every command line of README and docs/ is one that the commands take: with their own parser, without running it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from stompcap.cli.entry import with_seconds
from stompcap.cli.main import app
from tests.readme.printed import README, ROOT, Section

PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
INLINE = re.compile(r"`(stompcap [a-z][^`]*)`")
ENDS = {"|", "||", "&", "&&", ";", "<", ">", "(", ")", ">>"}
ELLIPSIS = re.compile(r"(^|\s)(\.\.\.|…)(\s|$)|\.\.\.$")


def words(line: str) -> list[list[str]]:
    """The commands of a line of a shell, each as words."""
    parts = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars="|&;<>()")
    parts.whitespace_split = True
    found: list[list[str]] = [[]]
    for part in parts:
        if part in ENDS:
            found.append([])
        else:
            found[-1].append(part)
    return [one for one in found if one]


def of_stompcap(line: str) -> Iterator[list[str]]:
    """The words after `stompcap`, or after a job, which takes the options of its command."""
    for one in words(line):
        for place, word in enumerate(one):
            job = re.fullmatch(r"(?:.*/)?jobs/(\w+)\.py", word)
            if job and one[0] == "spark-submit" and job[1] not in ("ack_latency", "heartbeat_violations", "compliance"):
                yield [job[1], *one[place + 1 :]]
        if one[0].endswith("stompcap"):
            yield one[1:]


def problem(given: list[str]) -> str | None:
    """Why the command would not take these words."""
    command, context, given = typer.main.get_command(app), None, with_seconds(given)
    try:
        while hasattr(command, "commands"):
            context = command.context_class(command, parent=context, info_name="stompcap")
            _, command, given = command.resolve_command(context, given)
        command.make_context(command.name, given, parent=context)
    except (typer.Exit, SystemExit):
        return None  # it printed its help or version
    except Exception as error:
        if not hasattr(error, "format_message"):  # not one of a command line that is wrong
            raise
        return error.format_message()
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_console_blocks_are_taken(page: Path) -> None:
    lines = Section(page.name, page.read_text("utf-8")).commands()
    wrong = {line: why for line in lines for given in of_stompcap(line) if (why := problem(given))}
    assert wrong == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_named_in_the_text_exist(page: Path) -> None:
    """In the text a command may be named without what it needs."""
    wrong = {}
    for line in {re.sub(r"\s+", " ", found) for found in INLINE.findall(page.read_text("utf-8"))}:
        if not ELLIPSIS.search(line) and not line.startswith("stompcap COMMAND"):
            why = problem(next(of_stompcap(line)))
            if why and not why.startswith("Missing"):
                wrong[line] = why
    assert wrong == {}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("stompcap run data --lake lake --overlap last  # a comment", None),
        ("tcpdump -w - | stompcap peek - && stompcap report --lake l -o x", None),
        ("stompcap rules explain FR-07", None),
        ("stompcap run data", "Missing option '--lake'."),
        ("stompcap run data --lake l --verlap x", "No such option: --verlap"),
        ("stompcap rum data", "No such command 'rum'. Did you mean 'run'?"),
    ],
)
def test_what_is_wrong_is_found(line: str, why: str | None) -> None:
    found = [problem(given) for given in of_stompcap(line)]
    assert [one and one.split("(")[0].strip() for one in found if one] == ([why] if why else [])
    assert found
