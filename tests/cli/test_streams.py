"""A stream may be named by the first digits of its id, if they tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stompcap.cli.streams import stream
from stompcap.errors import UsageError
from stompcap.lake import tables as lakes
from tests.quality.lakes import fill

IDS = ["0f8305aabbccddeeff00", "0f83ffaabbccddeeff00", "a0000000000000000000", *(f"b{n:019x}" for n in range(8))]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = str(tmp_path_factory.mktemp("a lake"))
    lakes.create(where)
    columns = {"stream_id": IDS, "client_ip": ["10.0.0.1"] * len(IDS), "client_port": [5] * len(IDS)}
    for one in range(0, len(IDS), 4):
        part = {name: values[one : one + 4] for name, values in columns.items()}
        lakes.append(where, "streams", fill("streams", len(part["stream_id"]), part), [str(one)], "run")
    return where


@pytest.mark.parametrize(("given", "number"), [
    (IDS[0], 0), ("0f830", 0), ("0F83FF", 1), ("a", 2), (" a00 ", 2), ("b0000000000000000003", 6),
])  # fmt: skip
def test_as_many_digits_as_tell_it(lake: str, given: str, number: int) -> None:
    assert stream(lake, given)["stream_id"] == IDS[number]


@pytest.mark.parametrize(("given", "says"), [
    (
        "0f83",
        r"^0f83: 2 stream ids begin with that, give more digits: "
        r"0f8305\w+ \(10\.0\.0\.1:5 to –, –\), 0f83f\w+ \([^)]+\)$",
    ),
    ("b", r"^b: 8 stream ids begin with that, give more digits: (b0{18}[0-4] \([^)]+\)(, )?){5} and 3 more$"),
    ("c", r"^c: no stream id begins with that in .*; list them with: stompcap sql 'SELECT stream_id FROM sessions' --lake '.*a lake.*'$"),
    ("0" * 20, r"^0{20}: no such stream in .*stompcap sql"),
    ("", "not a stream id"), ("0f83%", "not a stream id"), ("' OR 1=1 --", "not a stream id"), ("0" * 21, "not a stream id"),
    ("\x1b[2J", r"^\\x1b\[2J: not a stream id"),
])  # fmt: skip
def test_what_tells_none_or_several_is_said_in_a_line(lake: str, given: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as told:
        stream(lake, given)
    assert "\n" not in str(told.value)


def test_export_takes_the_digits_a_report_shows(lake: str, tmp_path: Path) -> None:
    from stompcap.cli.commands import export_command
    from stompcap.report.gap_charts import ID_DIGITS

    assert export_command.known(lake, IDS[1][:ID_DIGITS])[0]["stream_id"] == IDS[1]
