"""Key logs (RFC 9850): which lines say what."""

from __future__ import annotations

import pickle

import pytest

from stompcap.transport.keys import MASTER, SESSION, KeyLog

RANDOM, SECRET = bytes(range(32)), bytes(range(48))
LINE = f"CLIENT_RANDOM {RANDOM.hex()} {SECRET.hex()}"


@pytest.mark.parametrize(
    "text",
    [f"{LINE}\n", f"{LINE}\r\n", f"{LINE}\r", LINE, f"# a comment\n\n{LINE}\n", LINE.upper(), f"{LINE} \n",
     f"CLIENT_RANDOM {RANDOM.hex()} {bytes(48).hex()}\n{LINE}\n"],
    ids=["LF", "CRLF", "CR", "no end", "comment", "upper case", "a blank behind it", "the last line counts"],
)  # fmt: skip
def test_a_line_gives_a_secret(text):
    log = KeyLog.of(text.encode())
    assert log.secret(MASTER, RANDOM) == SECRET
    assert not log.malformed


@pytest.mark.parametrize(
    "line",
    [f"CLIENT_RANDOM {RANDOM.hex()}", f"CLIENT_RANDOM {RANDOM.hex()[:-2]} {SECRET.hex()}",
     f"CLIENT_RANDOM {RANDOM.hex()} {SECRET.hex()[:-1]}",
     f" # {LINE}", f"NO_SUCH_LABEL {RANDOM.hex()} {SECRET.hex()}", f"CLIENT_TRAFFIC_SECRET_0 {RANDOM.hex()} {bytes(20).hex()}", "\0\1\2"],
)  # fmt: skip
def test_a_malformed_line_is_counted_and_those_around_it_are_read(line):
    log = KeyLog.of(f"{line}\n{LINE}\n".encode())
    assert log.malformed == 1
    assert log.has(RANDOM)


@pytest.mark.parametrize("line", ["EXPORTER_SECRET", "EARLY_EXPORTER_SECRET", "ECH_SECRET", "ECH_CONFIG", "CLIENT_TRAFFIC_SECRET_N"])
def test_secrets_that_open_no_record_are_none(line):
    log = KeyLog.of(f"{line} {RANDOM.hex()} {SECRET.hex()}\n".encode())
    assert not log
    assert not log.malformed


def test_a_line_may_name_the_session():
    log = KeyLog.of(f"RSA Session-ID:{bytes(32).hex()} Master-Key:{SECRET.hex()}\n".encode())
    assert log.secret(SESSION, bytes(32)) == SECRET
    assert not log.randoms
    assert not log.malformed


def test_logs_are_merged_and_say_no_secret():
    one, other = KeyLog.of(LINE.encode()), KeyLog.of(f"CLIENT_RANDOM {bytes(32).hex()} {SECRET.hex()}\nx".encode())
    both = one | other
    assert (len(both.randoms), both.malformed) == (2, 1)
    assert SECRET.hex() not in repr(both)
    assert str(SECRET) not in repr(both)
    with pytest.raises(TypeError, match="leave no process"):
        pickle.dumps(both)
