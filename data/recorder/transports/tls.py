"""TLS upon a client's socket: by Python's ssl, or by `openssl s_client`, which can be told suites of TLS 1.3 and to change keys."""
from __future__ import annotations

import contextlib
import os
import select
import socket
import ssl
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.recorder.client import PATIENCE_S
from data.recorder.truth import Record

NAME = "broker.example"
"""What the brokers' certificate is for, and what clients name in SNI."""
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True)
class Tls:
    """How a client wants it: version, suite (OpenSSL's name), and with which program."""

    version: str
    suite: str | None = None
    by: str = "ssl"


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate that signs itself, and its key; made once in a folder."""
    made, key = folder / "certificate.pem", folder / "key.pem"
    if not made.exists():
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", f"/CN={NAME}",
                   "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", str(key), "-out", str(made)]
        subprocess.run(command, check=True, capture_output=True)
        key.chmod(0o644)
    return made, key


class TlsSocket:
    """Python's ssl without blocking, so that one thread may read while another writes; `keys` is the key log to append to."""

    def __init__(self, raw: socket.socket, wanted: Tls, keys: Path, told: Record, session: ssl.SSLSession | None = None,
                 context: ssl.SSLContext | None = None) -> None:
        self.context = context or self.prepared(wanted, keys)
        self.tls = self.context.wrap_socket(raw, server_hostname=NAME, session=session)
        self.tls.setblocking(False)
        self.using = threading.Lock()
        suite = self.tls.cipher()
        told["tls"] = {"version": self.tls.version(), "suite": suite and suite[0], "sni": NAME, "resumed": bool(self.tls.session_reused),
                       "alpn": self.tls.selected_alpn_protocol()}

    @staticmethod
    def prepared(wanted: Tls, keys: Path) -> ssl.SSLContext:
        """A context that trusts any certificate, for those here are nobody's."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.minimum_version = context.maximum_version = VERSIONS[wanted.version]
        if wanted.suite and wanted.version == "1.2":
            context.set_ciphers(wanted.suite + ":@SECLEVEL=0")
        context.keylog_filename = str(keys)
        return context

    def recv(self, most: int) -> bytes | None:
        """What one record brings; None where it is none of the application's."""
        with self.using:
            try:
                return self.tls.recv(most)
            except ssl.SSLWantReadError:
                return None

    def sendall(self, octets: bytes) -> None:
        """All of it, in as many records as OpenSSL makes."""
        left = memoryview(octets)
        while left:
            with self.using:
                try:
                    left = left[self.tls.send(left):]
                    continue
                except ssl.SSLWantWriteError:
                    pass
            select.select([], [self.tls], [], PATIENCE_S)

    def shutdown(self, how: int) -> None:
        """close_notify; the server then closes."""
        with self.using, contextlib.suppress(OSError, ValueError):
            self.tls.unwrap()

    def fileno(self) -> int:
        """The TCP socket's."""
        return self.tls.fileno()

    def setsockopt(self, level: int, option: int, value: Any) -> None:
        """An option of the TCP socket."""
        self.tls.setsockopt(level, option, value)

    def getsockname(self) -> Any:
        """The client's endpoint."""
        return self.tls.getsockname()

    def getpeername(self) -> Any:
        """The server's."""
        return self.tls.getpeername()

    def close(self) -> None:
        """Close the TCP socket."""
        self.tls.close()


class SClient:
    """`openssl s_client`: STOMP goes through its standard input and output; `K` and `k` alone in a read are commands to it."""

    def __init__(self, address: tuple[str, int], wanted: Tls, keys: Path, told: Record) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.local = free.getsockname()
        self.remote, self.told = address, told
        flag = "-tls1_3" if wanted.version == "1.3" else "-tls1_2"
        suites = ["-ciphersuites" if wanted.version == "1.3" else "-cipher", wanted.suite] if wanted.suite else []
        command = ["openssl", "s_client", "-brief", flag, *suites, "-connect", f"{address[0]}:{address[1]}",
                   "-bind", f"{self.local[0]}:{self.local[1]}", "-servername", NAME, "-keylogfile", str(keys)]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.child.stdin
        assert self.child.stdout
        assert self.child.stderr
        self.input, self.output, self.said = self.child.stdin, self.child.stdout, self.child.stderr
        told["tls"] = {"version": None, "suite": None, "sni": NAME, "resumed": False, "alpn": None, "key_updates": 0}
        for line in self.said:
            name, _, value = line.decode().strip().partition(": ")
            if name == "Protocol version":
                told["tls"]["version"] = value
            elif name == "Ciphersuite":
                told["tls"]["suite"] = value
            elif name.endswith("Temp Key"):
                break
        self.saying = threading.Thread(target=self.said.read, daemon=True)
        self.saying.start()

    def change_keys(self, both: bool) -> None:
        """KeyUpdate of the client's direction, asking the server for its own too if `both`."""
        self.pause()
        self._write(b"K\n" if both else b"k\n")
        self.pause()
        self.told["tls"]["key_updates"] += 1

    def pause(self) -> None:
        """Let it read what was written, so that one read brings one write."""
        time.sleep(0.15)

    def _write(self, octets: bytes) -> None:
        self.input.write(octets)
        self.input.flush()

    def recv(self, most: int) -> bytes:
        """What it printed."""
        return os.read(self.output.fileno(), most)

    def sendall(self, octets: bytes) -> None:
        """Write, and wait until it has read."""
        self._write(octets)
        time.sleep(0.02)

    def shutdown(self, how: int) -> None:
        """End of input: close_notify and FIN."""
        with contextlib.suppress(OSError):
            self.input.close()

    def fileno(self) -> int:
        """Where it prints."""
        return self.output.fileno()

    def setsockopt(self, level: int, option: int, value: Any) -> None:
        """It offers none."""

    def getsockname(self) -> Any:
        """The client's endpoint."""
        return self.local

    def getpeername(self) -> Any:
        """The server's."""
        return self.remote

    def close(self) -> None:
        """End it."""
        self.shutdown(socket.SHUT_WR)
        try:
            self.child.wait(3)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.output.close()
