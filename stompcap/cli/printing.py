"""Prints dialogues as text, CSV or JSON, line by line as they come."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stompcap.cli.dialogue import json_and_csv
from stompcap.cli.dialogue.text import Style, Writer
from stompcap.cli.dialogue.totals import Totals, one_line, titles
from stompcap.errors import UsageError

if TYPE_CHECKING:
    from stompcap.cli.dialogue.lines import Dialogue, Line, Row
    from stompcap.cli.dialogue.selection import Selection

FORMATS = ("text", "csv", "json")


class Enough(Exception):
    """As many frames were printed as were wanted."""


class Printer:
    """Prints sessions to standard output; `most` frames at most, after which it raises Enough. `brief`: one line a session."""

    def __init__(self, form: str, style: Style, selection: Selection, most: int | None = None, *, brief: bool = False) -> None:
        self.brief, self.totals = brief, Totals()
        self.form, self.writer, self.selection, self.left = form, Writer(style), selection, most
        self.sessions = self.remarks = 0
        self.headed = False
        self.begun: set[str] = set()  # streams
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="backslashreplace")
        if form == "csv" and not brief:
            self._put(json_and_csv.as_csv(json_and_csv.COLUMNS))

    def session(self, dialogue: Dialogue) -> None:
        """All of a session that is selected."""
        selected = self.selection.of(dialogue)
        if selected is None:
            return
        self.begin(dialogue)
        for line in selected.lines:
            self.line(dialogue, line)
        self.end(selected)

    def begin(self, dialogue: Dialogue) -> None:
        """The line that begins a session."""
        self.totals.sessions += 1
        if self.brief:
            pass
        elif self.form == "text":
            between = (self.sessions or self.remarks) and not self.writer.style.named
            self._put(("\n" if between else "") + self.writer.head(dialogue))
        else:
            self._put(self._object(json_and_csv.session_object(dialogue)))
        self.sessions += 1
        self.begun.add(dialogue.stream_id)

    def line(self, dialogue: Dialogue, line: Line) -> None:
        """A line that is selected, and its findings."""
        self.totals.line(line)
        if self.brief:
            return
        if self.form == "text":
            self._put_all(self.writer.lines(dialogue, line))
        else:
            self._put_all(map(self._object, json_and_csv.line_objects(dialogue, line)))
        if self.left is not None and line.frame is not None:
            self.left -= 1
            if self.left <= 0:
                raise Enough

    def finding(self, dialogue: Dialogue, finding: Row, line: Line) -> None:
        """A finding at a line that was printed before."""
        if self.brief or not self.selection.shows(finding):
            return
        if self.form == "text":
            self._put(self.writer.finding(dialogue, finding, line.packet))
        else:
            self._put(self._object(json_and_csv.finding_object(dialogue, finding, line)))

    def end(self, dialogue: Dialogue) -> None:
        """The summary of a session, not where frames are selected; or the one line of it."""
        if self.brief:
            self._brief(dialogue)
        elif self.selection.frames_only:
            return
        elif self.form == "text":
            self._put_all(self.writer.end(dialogue))
        else:
            self._put(self._object(json_and_csv.summary_object(dialogue)))

    def _brief(self, dialogue: Dialogue) -> None:
        if self.form != "text":
            whole = json_and_csv.session_object(dialogue) | json_and_csv.summary_object(dialogue) | {"login": dialogue.session["login"]}
            if self.form == "csv" and not self.headed:
                self._put(json_and_csv.as_csv([*whole]))
            self.headed = True
            self._put(json_and_csv.as_json(whole) if self.form == "json" else json_and_csv.as_csv([*whole.values()]))
            return
        if not self.headed:
            self._put(self.writer.coloured(titles(self.writer.style.width), "head"))
        self.headed = True
        grave = next((level for level in "MSI" if any(row["level"] == level for row in dialogue.findings)), "")
        self._put(self.writer.coloured(one_line(dialogue, self.writer.style.width), grave))

    def total(self) -> None:
        """What was shown in all, in text only, and not where it is one whole session, whose summary says it."""
        if self.form == "text" and (self.sessions > 1 or (self.sessions and (self.selection.frames_only or self.brief))):
            self._put("\n" + self.writer.folded(self.totals.words(), "head"))

    def remark(self, text: str) -> None:
        """A line about what is read, in text only."""
        if self.form == "text":
            self._put(self.writer.remark(text))
            self.remarks += 1

    def flush(self) -> None:
        """All that was printed reaches the reader."""
        sys.stdout.flush()

    def _object(self, found: dict[str, object]) -> str:
        return json_and_csv.as_json(found) if self.form == "json" else json_and_csv.csv_row(found)

    def _put(self, text: str) -> None:
        sys.stdout.write(text + "\n")

    def _put_all(self, texts: Iterator[str]) -> None:
        for text in texts:
            self._put(text)


def form_of(name: str, *, as_json: bool) -> str:
    """The format that the options ask for; raises UsageError for an unknown one."""
    if name not in FORMATS:
        raise UsageError(f"--format {name}: must be one of {', '.join(FORMATS)}")
    return "json" if as_json else name
