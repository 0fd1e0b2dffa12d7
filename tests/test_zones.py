"""The zone in which times are shown."""

from __future__ import annotations

import os
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from stompcap import units, zones
from stompcap.cli import entry
from stompcap.report import build
from tests.report.sample import ask, lake

NS = 1_782_907_200_123_456_789  # 2026-07-01 12:00:00 UTC
WINTER = NS - 182 * 86_400 * 10**9


@pytest.mark.parametrize(("zone", "summer", "winter"), [
    ("UTC", "2026-07-01 12:00:00.123", "2025-12-31 12:00:00.123"),
    ("Europe/Berlin", "2026-07-01 14:00:00.123+02:00", "2025-12-31 13:00:00.123+01:00"),
    ("America/St_Johns", "2026-07-01 09:30:00.123-02:30", "2025-12-31 08:30:00.123-03:30"),
    ("Asia/Kolkata", "2026-07-01 17:30:00.123+05:30", "2025-12-31 17:30:00.123+05:30"),
])  # fmt: skip
def test_moments_are_those_of_the_zone(zone: str, summer: str, winter: str) -> None:
    with zones.showing(zones.find(zone)):
        assert (units.moment(NS), units.moment(WINTER)) == (summer, winter)
        assert units.moment(NS, 0) == summer.replace(".123", "")
        assert units.stamp(NS) == summer + (" UTC" if zone == "UTC" else "")
        assert units.iso(NS) == summer.replace(" ", "T").replace(".123", ".123456") + ("Z" if zone == "UTC" else "")
        assert (units.moment(None), units.stamp(None), units.iso(None)) == (units.NOTHING, units.NOTHING, None)
    assert zones.is_utc()


def test_the_hour_that_comes_twice_is_told_apart() -> None:
    hour = 3600 * 10**9
    with zones.showing(zones.find("Europe/Berlin")):
        first = 1_792_886_400 * 10**9  # 2026-10-25 00:00:00 UTC
        assert [units.moment(first + n * hour, 0) for n in range(2)] == ["2026-10-25 02:00:00+02:00", "2026-10-25 02:00:00+01:00"]


@pytest.mark.parametrize("given", ["europe/berlin", "EUROPE/BERLIN"])
def test_a_name_may_be_in_any_case(given: str) -> None:
    assert str(zones.find(given)) == "Europe/Berlin"


@pytest.mark.parametrize("given", ["Mars/Olympus", "", "+01:00", "../../etc/passwd", "CET-1CEST", "Europe"])
def test_what_is_no_zone_is_told(given: str) -> None:
    with pytest.raises(ValueError, match="IANA name such as Europe/Berlin, or local"):
        zones.find(given)


@pytest.mark.parametrize(("variable", "link", "found"), [
    ("Asia/Tokyo", "Europe/Rome", "Asia/Tokyo"), (":Asia/Tokyo", "Europe/Rome", "Asia/Tokyo"), ("", "Europe/Rome", "UTC"),
    (None, "Europe/Rome", "Europe/Rome"), (None, None, "UTC"), ("CET-1CEST", "Europe/Rome", None), (None, "no zone", None),
])  # fmt: skip
def test_the_zone_of_this_machine(
    variable: str | None, link: str | None, found: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "zoneinfo" / (link or "none")
    if link is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
        os.symlink(place, tmp_path / "localtime")
    monkeypatch.setattr(zones, "_LOCALTIME", str(tmp_path / "localtime"))
    if variable is None:
        monkeypatch.delenv("TZ", raising=False)
    else:
        monkeypatch.setenv("TZ", variable)
    if found is None:
        with pytest.raises(ValueError, match="does not name its time zone"):
            zones.find("local")
    else:
        assert str(zones.find("local")) == found


@pytest.mark.slow
def test_a_report_is_in_its_zone_throughout() -> None:
    answers = ask(lake())
    with zones.showing(ZoneInfo("Asia/Tokyo")):
        page = build(answers)
    assert "UTC" not in page
    assert "Period (Asia/Tokyo)" in page
    assert "+09:00" in page
    utc = build(answers)
    assert "+09:00" not in utc
    assert "Period (UTC)" in utc


@pytest.mark.parametrize("words", [("sql", "SELECT 1"), ("show",), ("report",), ("peek", "data/rabbitmq_dialogue.pcap")])
def test_an_unknown_zone_is_a_line(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [] if words[0] == "peek" else ["--lake", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["stompcap", *words, *options, "--time-zone", "Mars/\x1b[31m"])
    assert entry.outcome() == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "--time-zone Mars/\\x1b[31m: not a time zone; give an IANA name such as Europe/Berlin, or local" in said.err
