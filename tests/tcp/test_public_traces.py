"""198 public traces: every stream side on which two independent reassemblers agree, by length and SHA-256."""

import sys

import pytest

from benchmarks import score
from tests.capture.packaging import pcap
from tests.tcp.wire import Wire

FOLDER = score.folder()
EXPECTED = score.expected(FOLDER)


@pytest.mark.parametrize("trace", sorted(EXPECTED) or ["expected.tsv"])
def test_streams_are_those_two_others_agree_on(trace):
    if not EXPECTED:
        pytest.skip(f"needs {FOLDER}, which is not part of the project")
    assert not EXPECTED[trace] - score.found(FOLDER / trace)


@pytest.fixture
def traces(tmp_path):
    """A folder with one trace, and a table that says of it what is true."""
    pcap(tmp_path / "one.pcap", Wire().handshake().c(0, b"hello").frames)
    ((source, target, octets, digest),) = score.found(tmp_path / "one.pcap")
    assert (source, target, octets) == ("10.0.0.9:40000", "10.0.0.1:61613", 5)
    head, row = "file src dst tshark_stream bytes sha256", f"one.pcap {source} {target} 0 {octets} {digest}"
    (tmp_path / "expected.tsv").write_text(f"{head}\n{row}\n".replace(" ", "\t"))
    return tmp_path


def test_the_score_counts_and_names_what_is_missed(traces, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["score", str(traces)])
    assert score.main() == 0
    assert capsys.readouterr().out == f"1 of 1 stream sides, 1 traces in {traces}\n"
    table = traces / "expected.tsv"
    table.write_text(table.read_text().replace("\t5\t", "\t6\t") + "two.pcap\ta\tb\t0\t1\tff\n")
    assert score.main() == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("missed  one.pcap: 10.0.0.9:40000 > 10.0.0.1:61613, 6 octets, ")
    assert said[0].endswith("found 10.0.0.9:40000 > 10.0.0.1:61613: 5 octets")
    assert said[1].startswith("missed  two.pcap: a > b, 1 octets, ff; found ")
    assert said[2] == f"0 of 2 stream sides, 2 traces in {traces}"


def test_the_score_says_where_the_traces_must_lie(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(score.VARIABLE, str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["score"])
    assert score.main() == 2
    assert capsys.readouterr().err == f"{tmp_path}: no expected.tsv there; set STOMPCAP_TRACES to the folder with it and the traces\n"
