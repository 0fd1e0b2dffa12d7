"""What `openssl s_client` and `s_server` say, as it was relayed: KeyUpdate, early data, renegotiation, HelloRetryRequest, suites."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from stompcap.transport.keys import KeyLog
from stompcap.transport.tls_connection import ACCEPTED, REFUSED
from tests.transport.test_tls_side import Piece, Reader
from tests.transport.tls_traffic import certificate


class Relay(threading.Thread):
    """Passes one connection on, and notes what both sides send, in order."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.port, self.pieces, self.at = port, list[Piece](), [0, 0]
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(60)
        self.own = self.listener.getsockname()[1]
        self.lock = threading.Lock()

    def run(self) -> None:
        client, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", self.port))
        ways = [threading.Thread(target=self.passed, args=way, daemon=True) for way in ((0, client, server), (1, server, client))]
        for way in ways:
            way.start()
        for way in ways:
            way.join(60)
        for one in (client, server, self.listener):
            one.close()

    def passed(self, side: int, source: socket.socket, target: socket.socket) -> None:
        try:
            while octets := source.recv(1 << 16):
                with self.lock:
                    self.pieces.append((side, self.at[side], octets))
                    self.at[side] += len(octets)
                target.sendall(octets)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return


def until(condition: Callable[[], object], what: str) -> None:
    """Wait until something is so, however long it takes on a busy machine; beyond a minute it never will."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, f"waited for {what}"
        time.sleep(0.01)


@contextmanager
def running(command: Sequence[str], says: str) -> Iterator[subprocess.Popen[bytes]]:
    """OpenSSL, as soon as it has said that it is ready."""
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with TemporaryFile() as out, subprocess.Popen(["openssl", *command], stdout=out, **pipes) as process:
        try:
            until(lambda: says.encode() in os.pread(out.fileno(), 1 << 20, 0), f"{command[0]} to say {says}")
            yield process
        finally:
            process.kill()


@contextmanager
def serving(*options: str) -> Iterator[int]:
    """A server; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    pem, key = certificate()
    with running(["s_server", "-accept", f"127.0.0.1:{port}", "-cert", pem, "-key", key, *options], "ACCEPT"):
        yield port


TURNS = {"R": "0101"}
"""Who speaks in turn at a command of s_client that the server answers at once: a new handshake."""


def talk(port: int, keys: Path, options: Sequence[str], lines: Sequence[str]) -> Relay:
    """What a client says line by line; a line of one letter is a command of s_client."""
    relay = Relay(port)
    relay.start()
    command = ["s_client", "-connect", f"127.0.0.1:{relay.own}", "-keylogfile", str(keys), "-servername", "broker.example", *options]
    session = Path(options[options.index("-sess_out") + 1]) if "-sess_out" in options else None
    with running(command, "Verify return code") as process:  # what it says last before it reads its input
        for line in lines:
            before = len(relay.pieces)
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
            turns = TURNS.get(line, "0")
            until(lambda before=before, turns=turns: turns in in_turn(relay.pieces[before:]), f"{turns} behind {line}")
        if session:
            until(lambda: session.exists() and session.read_bytes().endswith(b"-----\n"), "the session")
        process.stdin.close()
        process.wait(60)
    relay.join(60)
    assert not relay.is_alive()
    return relay


def in_turn(pieces: Sequence[Piece]) -> str:
    """The sides that speak, one after the other."""
    return "".join(str(side) for side, _ in groupby(side for side, *_ in pieces))


def said(folder: Path, server: Sequence[str], client: Sequence[str], lines: Sequence[str]) -> tuple[Relay, KeyLog]:
    keys = folder / "keys.log"
    with serving(*server) as port:
        relay = talk(port, keys, client, lines)
    return relay, KeyLog.of(keys.read_bytes())


def read(relay: Relay, keys: KeyLog) -> Reader:
    """Read at once; in pieces it must give the same."""
    reader, pieces = Reader(keys), Reader(keys)
    reader.read(relay.pieces, True)
    for number, piece in enumerate(relay.pieces):
        pieces.read([piece], number == len(relay.pieces) - 1)
    assert pieces.found == reader.found
    return reader


def octets(reader: Reader, side: int = 0) -> bytes:
    return b"".join(found for _, _, found, _ in reader.found[side])


WORDS = ["CONNECT", "SEND one", "SEND two"]
PLAIN = "".join(f"{line}\n" for line in WORDS).encode()
SUITES = ["-ciphersuites TLS_AES_128_GCM_SHA256", "-ciphersuites TLS_CHACHA20_POLY1305_SHA256", "-ciphersuites TLS_AES_128_CCM_SHA256",
          "-ciphersuites TLS_AES_128_CCM_8_SHA256", "-tls1_2 -cipher ECDHE-RSA-AES128-SHA", "-tls1_2 -cipher AES256-CCM8",
          "-tls1_2 -cipher ECDHE-RSA-AES256-SHA384"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("options", SUITES)
@pytest.mark.parametrize("more", [[], ["-no_etm"]], ids=["", "MAC, then encrypt"])
def test_each_suite_is_read(options, more, tmp_path):
    if more and "SHA" not in options.rsplit("-", 1)[1]:
        pytest.skip("no CBC")
    suite = options.removeprefix("-tls1_2 ").split()
    reader = read(*said(tmp_path, suite, [*options.split(), *more], WORDS))
    assert octets(reader) == PLAIN
    assert reader.connection.server_name == "broker.example"


def test_keys_change_after_a_key_update(tmp_path):
    reader = read(*said(tmp_path, [], ["-tls1_3"], ["SEND one", "K", "SEND two", "k", "SEND three"]))
    assert octets(reader) == b"SEND one\nSEND two\nSEND three\n"
    assert reader.sides[0].phase == 5
    assert reader.sides[1].phase == 4  # it was asked for one


def test_a_hello_that_is_asked_for_again_counts_once(tmp_path):
    reader = read(*said(tmp_path, ["-groups", "P-256"], ["-tls1_3", "-groups", "X25519:P-256"], WORDS))
    assert octets(reader) == PLAIN
    assert reader.connection.retried
    assert len(reader.connection.digests) == 1


def test_keys_change_with_each_renegotiation(tmp_path):
    """Each side's keys depend on both hellos, and these are encrypted: no side goes on before the other has told its own."""
    reader = read(*said(tmp_path, ["-client_renegotiation"], ["-tls1_2"], ["SEND one", "R", "SEND two", "R", "SEND three"]))
    assert octets(reader) == b"SEND one\nSEND two\nSEND three\n"
    assert [side.phase for side in reader.sides] == [3, 3]
    assert [side.unopened for side in reader.sides] == [0, 0]


def test_what_follows_a_renegotiation_is_not_read_where_the_log_lacks_its_line(tmp_path):
    relay, keys = said(tmp_path, ["-client_renegotiation"], ["-tls1_2"], ["SEND one", "R", "SEND two"])
    first = next(iter(keys.randoms))
    reader = read(relay, KeyLog({key: secret for key, secret in keys.secrets.items() if key[1] == first}))
    assert octets(reader) == b"SEND one\n"
    assert reader.sides[0].unopened


@pytest.mark.slow
@pytest.mark.parametrize("options", ["-tls1_3", "-tls1_2", "-tls1_2 -no_ticket"], ids=["1.3", "1.2, ticket", "1.2, session"])
def test_a_resumed_session_is_said_to_be_one_and_read(options, tmp_path):
    session, keys = str(tmp_path / "session.pem"), tmp_path / "keys.log"
    with serving() as port:
        talk(port, keys, [*options.split(), "-sess_out", session], WORDS)
        relay = talk(port, keys, [*options.split(), "-sess_in", session], WORDS)
    reader = read(relay, KeyLog.of(keys.read_bytes()))
    assert octets(reader) == PLAIN
    assert reader.connection.goes_on


@pytest.mark.parametrize("options", ["-tls1_2", "-tls1_2 -no_ticket -cipher ECDHE-RSA-AES128-SHA"])
def test_a_resumed_session_has_the_secret_of_the_one_before(options, tmp_path):
    """NSS and Go write no line of their own for it; a log of others leaves it closed."""
    session, keys = str(tmp_path / "session.pem"), tmp_path / "keys.log"
    with serving("-cipher", "ALL") as port:
        talk(port, keys, [*options.split(), "-sess_out", session], WORDS)
        before = KeyLog.of(keys.read_bytes())
        relay = talk(port, keys, [*options.split(), "-sess_in", session], WORDS)
    others = {("CLIENT_RANDOM", bytes([number]) * 32): bytes([number]) * 48 for number in range(9)}
    for log, given in ((before, PLAIN), (KeyLog(others | before.secrets), PLAIN), (KeyLog(others), b"")):
        reader = read(relay, log)
        assert reader.connection.goes_on
        assert octets(reader) == given


@pytest.mark.parametrize("options", ["-tls1_2", "-tls1_2 -cipher ECDHE-RSA-AES128-SHA"])
def test_the_id_of_a_session_names_its_secret_too(options, tmp_path):
    """As older tools write it; in pieces too."""
    relay, keys = said(tmp_path, ["-no_ticket", "-cipher", "ALL"], options.split(), WORDS)
    plain = read(relay, keys)
    [master] = keys.secrets.values()
    by_session = KeyLog.of(f"RSA Session-ID:{plain.connection.echoed.hex()} Master-Key:{master.hex()}".encode())
    assert octets(read(relay, by_session)) == PLAIN


@pytest.mark.slow
@pytest.mark.parametrize("accepted", [True, False], ids=["accepted", "refused"])
def test_early_data_is_given_only_where_the_server_took_it(accepted, tmp_path):
    session, keys, early = str(tmp_path / "session.pem"), tmp_path / "keys.log", tmp_path / "early"
    early.write_bytes(b"EARLY SEND\n")
    with serving("-early_data", "-no_anti_replay", "-max_early_data", "16384") as port:
        talk(port, keys, ["-tls1_3", "-sess_out", session], WORDS)
        again = ["-tls1_3", "-sess_in", session, "-early_data", str(early)]
        if accepted:
            relay = talk(port, keys, again, WORDS)
    if not accepted:
        with serving() as port:
            relay = talk(port, keys, again, WORDS)
    reader = read(relay, KeyLog.of(keys.read_bytes()))
    assert reader.connection.early == (ACCEPTED if accepted else REFUSED)
    assert octets(reader) == (b"EARLY SEND\n" if accepted else b"") + PLAIN
    assert reader.found[0][0][1] == 0
