"""What a capture is, by magic; errors that say what to do."""

import os
import pathlib

import numpy as np
import pytest

from stompcap.capture import is_capture, octets, read_segments, survey
from stompcap.capture.find import find
from stompcap.errors import CaptureError
from tests.capture.packaging import Frame, pcap, pcapng


@pytest.mark.parametrize(
    ("content", "is_one"),
    [
        (b"\xd4\xc3\xb2\xa1" + b"\0" * 20, True),
        (b"\xa1\xb2\xc3\xd4", True),
        (b"\x4d\x3c\xb2\xa1", True),
        (b"\xa1\xb2\x3c\x4d", True),
        (b"\x0a\x0d\x0d\x0a", True),
        (b"", False),
        (b"\xd4\xc3", False),
        (b"CONNECT\n\n\0", False),
    ],
)
def test_a_capture_is_known_by_its_magic_alone(tmp_path, content, is_one):
    path = tmp_path / "anything.txt"
    path.write_bytes(content)
    assert is_capture(str(path)) is is_one


def test_what_cannot_be_read_is_an_error(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(CaptureError):
            is_capture(str(path))


def test_a_folder_gives_what_can_be_read_and_names_the_rest(tmp_path):
    (tmp_path / "deep").mkdir()
    good = pcap(tmp_path / "deep" / "good.pcap", [])
    bad, closed = pcap(tmp_path / "bad.pcap", []), tmp_path / "lost+found"
    closed.mkdir()
    pcap(closed / "hidden.pcap", [])
    (tmp_path / "notes.txt").write_text("no capture")
    (tmp_path / "empty.pcap").touch()
    (tmp_path / "gone.pcap").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    bad.chmod(0)
    closed.chmod(0)
    root = os.geteuid() == 0
    if root:
        for folder in (tmp_path, *tmp_path.parents):
            if str(folder).startswith("/tmp/"):
                folder.chmod(0o755)
        os.seteuid(NOBODY)
    try:
        refused = []
        assert find([str(tmp_path), str(tmp_path / "missing.pcap")], refused.append) == [str(good)]
        with pytest.raises(CaptureError):
            find([str(tmp_path)])
    finally:
        if root:
            os.seteuid(0)
        closed.chmod(0o755)
    assert {error.path for error in refused} == {str(bad), str(closed), str(tmp_path / "missing.pcap")}
    assert all("permission" in error.remedy.lower() for error in refused if "missing" not in error.path)


@pytest.mark.parametrize(
    ("name", "content", "remedy"),
    [
        ("missing.pcap", None, "no such file"),
        ("folder.pcap", "folder", "folder"),
        ("notes.txt", b"not packets at all", "not a pcap"),
        ("a.pcap.gz", b"\x1f\x8b\x08\0\0\0\0\0", "gzip"),
        ("a.pcap.zst", b"\x28\xb5\x2f\xfd\0\0", "zstd"),
    ],
)
def test_an_unreadable_file_is_named_with_a_remedy(tmp_path, name, content, remedy):
    path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    for use in (lambda: survey(str(path), "s"), lambda: list(read_segments(str(path), 0)), lambda: octets(str(path))):
        with pytest.raises(CaptureError, match=remedy) as caught:
            use()
        assert caught.value.path == str(path)
        assert "\n" not in str(caught.value)


NOBODY = 65534


def test_a_file_without_permission_is_named(tmp_path):
    path = pcap(tmp_path / "a.pcap", [])
    path.chmod(0)
    root = os.geteuid() == 0
    if root:  # root may read everything: be someone else for a moment
        os.seteuid(NOBODY)
    try:
        with pytest.raises(CaptureError, match="permission"):
            survey(str(path), "s")
    finally:
        if root:
            os.seteuid(0)


def test_an_empty_file_is_nothing_to_do(tmp_path):
    path = tmp_path / "empty.pcap"
    path.touch()
    assert survey(str(path), "s") is None
    assert list(read_segments(str(path), 0)) == []
    assert len(octets(str(path))) == 0


@pytest.mark.parametrize("write", [pcap, pcapng])
def test_octets_are_those_of_the_file(tmp_path, write):
    path = write(tmp_path / "a", [Frame(b"x" * 60)])
    assert np.array_equal(octets(str(path)), np.frombuffer(path.read_bytes(), np.uint8))


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe.pcap"
    os.mkfifo(pipe)
    with pytest.raises(CaptureError, match="can be read only once"):
        find([str(pipe)])
    with pytest.raises(CaptureError, match="can be read only once"):
        find(["/dev/zero"])
    assert find([str(tmp_path)]) == []
