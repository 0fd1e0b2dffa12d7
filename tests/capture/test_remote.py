"""Captures named by URI: the rows of the same file on disk, read in ranges, only those needed; errors with a remedy."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture import SEGMENTS, examine, is_capture, octets, read_segments, uris
from stompcap.capture.find import find, sizes
from stompcap.errors import CaptureError
from stompcap.tcp import reassemble
from stompcap.tcp.octets import together
from tests.capture.test_compressed import COMPRESS
from tests.capture.test_splits import WRITERS
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA
from tests.examples import slow_behind
from tests.s3 import store


@pytest.fixture(scope="module")
def s3():
    pytest.importorskip("moto")
    uris._filesystem.cache_clear()
    with store() as found:
        yield found
    uris._filesystem.cache_clear()


@pytest.fixture
def small_ranges(monkeypatch):
    """Ranges so small that a small file takes many."""
    monkeypatch.setattr("stompcap.capture.remote.RANGE_OCTETS", 8000)
    monkeypatch.setattr("stompcap.capture.remote.AHEAD_OCTETS", 500)


def rows(parts):
    return pa.Table.from_batches([one for part in parts for one in read_segments(part, 0)], SEGMENTS).to_pylist()


def without(row, *names):
    return {name: value for name, value in row.items() if name not in ("path", *names)}


@pytest.mark.usefixtures("small_ranges")
@pytest.mark.parametrize("kind", slow_behind(3, list(WRITERS)))
def test_a_remote_capture_gives_what_the_local_one_gives(s3, tmp_path, kind):
    """In parts, and in one."""
    path = WRITERS[kind](tmp_path / "a")
    uri = s3.put("folder/a b", path.read_bytes()).replace(" ", "%20")
    there, here = examine(uri, "s", 3000), examine(str(path), "s", 3000)
    assert without(there.row) == without(here.row)
    assert [(one.begin, one.end, one.pending) for one in there.splits] == [(one.begin, one.end, one.pending) for one in here.splits]
    assert rows(there.splits) == rows([uri]) == rows([str(path)])


@pytest.mark.usefixtures("small_ranges")
@pytest.mark.parametrize("kind", COMPRESS)
def test_a_compressed_one_too(s3, tmp_path, kind):
    plain = WRITERS["pcap"](tmp_path / "a")
    path = tmp_path / "b"
    path.write_bytes(COMPRESS[kind](plain.read_bytes()))
    uri = s3.put("b", path.read_bytes())
    there = examine(uri, "s")
    assert without(there.row) == without(examine(str(path), "s").row)
    assert there.row["capture_id"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert rows(there.splits) == rows([str(path)])


def test_a_part_asks_for_its_ranges_alone(s3, tmp_path):
    path = WRITERS["pcap"](tmp_path / "a")
    uri = s3.put("a.pcap", path.read_bytes())
    splits = examine(uri, "s", 6000).splits
    assert s3.ranges == [(0, 24), (0, path.stat().st_size)]
    part = splits[3]
    s3.asked.clear()
    assert rows([part])
    assert s3.ranges == [(0, 24), (part.begin.before, part.end.offset)]
    assert part.end.offset - part.begin.before < 8000


def test_octets_of_streams_are_asked_for_together(s3, monkeypatch):
    monkeypatch.setattr("stompcap.tcp.octets.RANGE_OCTETS", 200_000)
    path = DATA / "rabbitmq_dialogue.pcap"
    uri = s3.put("dialogue.pcap", path.read_bytes())
    found = next(iter(reassemble(uri)))
    s3.asked.clear()
    assert found.c2s.chunks == next(iter(reassemble(str(path)))).c2s.chunks
    assert len(s3.ranges) == len(found.c2s.chunks) == 1
    assert s3.ranges[0][1] - s3.ranges[0][0] < path.stat().st_size / 2


def test_all_tables_are_those_of_the_local_file(s3):
    path = DATA / "rabbitmq_midstream.pcap"
    there, here = tables_of([s3.put("m.pcap", path.read_bytes())]), tables_of([str(path)])
    assert {name: table.to_pylist() for name, table in there.items()} == {name: table.to_pylist() for name, table in here.items()}


def test_folders_and_globs(s3):
    octets_of = Path(DATA / "rabbitmq_midstream.pcap").read_bytes()
    for key in ("tree/one.pcap", "tree/deep/two.pcap", "tree/deep/er/three [1].pcap"):
        s3.put(key, octets_of)
    s3.put("tree/four.gz", gzip.compress(octets_of))
    s3.put("tree/notes.txt", b"no capture")
    s3.put("tree/empty", b"")
    names = {"one": "one.pcap", "two": "deep/two.pcap", "three": "deep/er/three%20%5B1%5D.pcap", "four": "four.gz"}
    tree = "s3://bucket/tree"
    for named, wanted in {
        tree: names,
        f"{tree}/": names,
        f"{tree}/*.pcap": ["one"],
        f"{tree}/**/*.pcap": ["one", "two", "three"],
        f"{tree}/de*": ["two", "three"],
        f"{tree}/[a-o]*": ["one", "two", "three", "four"],
        f"{tree}/none*": [],
    }.items():
        assert find([named]) == sorted(f"{tree}/{names[name]}" for name in wanted), named
    assert [is_capture(path) for path in find([tree])] == [True] * 4
    assert sizes([f"{tree}/one.pcap", f"{tree}/missing"]) == [len(octets_of), 0]


def test_an_empty_object_is_nothing_to_do(s3):
    uri = s3.put("nothing", b"")
    assert examine(uri, "s") is None
    assert rows([uri]) == []


@pytest.mark.parametrize(
    ("uri", "remedy"),
    [
        ("s3://bucket/missing.pcap", "no such file or bucket"),
        ("s3://other/missing.pcap", "no such file or bucket"),
        ("s3://bucket/denied.pcap", "no permission .* credentials"),
        ("s3://bucket/text.pcap", "is not a pcap"),
        ("nowhere://bucket/a.pcap", "the scheme of this URI is not supported"),
    ],
)
def test_what_cannot_be_read_is_named_with_a_remedy(s3, uri, remedy):
    s3.put("text.pcap", b"no capture")
    s3.denied.add("denied.pcap")
    with pytest.raises(CaptureError, match=remedy) as caught:
        examine(uri, "s")
    assert caught.value.path == uri
    assert "\n" not in str(caught.value)
    if uri.endswith("text.pcap"):
        assert not is_capture(uri)
    else:
        with pytest.raises(CaptureError, match=remedy):
            is_capture(uri)


@pytest.mark.parametrize(
    ("problem", "remedy"),
    [
        (OSError("AWS Error NETWORK_CONNECTION during HeadObject operation:\ncurlCode: 7, no connection"), "cannot be reached .*network"),
        (OSError("AWS Error SIGNATURE_DOES_NOT_MATCH during GetObject operation"), "no permission"),
        (PermissionError(13, "denied"), "no permission"),
        (OSError("AWS Error SLOW_DOWN during GetObject operation"), "SLOW_DOWN.*check"),
        (pa.ArrowInvalid("odd"), "odd.*check"),
    ],
)
def test_errors_on_the_way_are_explained(problem, remedy):
    with pytest.raises(CaptureError, match=remedy) as caught, uris.explained("s3://bucket/a"):
        raise problem
    assert "\n" not in str(caught.value)


def test_a_password_is_neither_taken_nor_shown():
    with pytest.raises(CaptureError, match="password") as caught:
        find(["s3://name:pc-secret@bucket/a.pcap"])
    assert "pc-secret" not in str(caught.value)


def test_a_file_uri_is_a_local_path(tmp_path):
    path = WRITERS["pcap"](tmp_path / "a b.pcap")
    for name in (f"file://{path}", f"file://{str(path).replace(' ', '%20')}"):
        assert find([name]) == [str(path)]
        assert np.array_equal(octets(name), octets(str(path)))


@given(st.lists(st.tuples(st.integers(0, 1 << 28), st.integers(0, 1 << 16)), max_size=40))
def test_requests_hold_all_stretches_and_little_else(stretches):
    begins, lengths = np.array(stretches, np.int64).reshape(-1, 2).T
    groups = together(begins, lengths)
    assert sorted(np.concatenate(groups).tolist() if groups else []) == list(range(len(stretches)))
    for group in groups:
        assert (begins[group] + lengths[group]).max() - begins[group].min() <= (1 << 24) + (1 << 16)
