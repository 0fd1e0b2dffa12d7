"""What the tables say of STOMP inside WebSocket, SockJS, TLS, and behind PROXY is what the recorded clients logged."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stompcap.lake.secret_search import Searcher
from stompcap.options import Options
from tests.e2e.agreement import differences
from tests.e2e.cutting import cut
from tests.e2e.pure import tables_of
from tests.e2e.runs import Lake
from tests.e2e.test_secrets import said_in
from tests.e2e.truth import DATA, Observed, Session, captures, sessions, truths
from tests.examples import every, slow_behind

RECORDINGS = DATA / "transports"
FALLBACK = "spring_fallback"
NAMES = [name for path in truths(RECORDINGS) if (name := path.name.removesuffix(".truth.jsonl")) != FALLBACK]
WITH_KEYS = [path.name.removesuffix(".keys.txt") for path in sorted(RECORDINGS.glob("*.keys.txt"))]
SUITES = {  # OpenSSL's names of those that IANA names otherwise
    "ECDHE-RSA-AES128-GCM-SHA256": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "ECDHE-RSA-CHACHA20-POLY1305": "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "ECDHE-RSA-AES256-SHA384": "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384",
}
MASKED = ("rabbitmq_proxy", "rabbitmq_binary")
"""Captures with messages that refer to octets of a passcode."""
BROKEN = ("-opcode-12", "-reserved-12")
"""Sessions whose last octets are no frames of WebSocket."""
LAYERS = {"tcp": [], "tls": ["tls"], "websocket": ["http", "websocket"], "wss": ["tls", "http", "websocket"],
          "sockjs": ["http", "websocket", "sockjs"]}  # fmt: skip


def capture_of(name: str) -> str:
    return next(path for path in captures(RECORDINGS) if Path(path).stem == name)


def options_of(name: str) -> Options:
    """With the key log beside the capture, unless it has its own within."""
    beside = name in WITH_KEYS and name != "rabbitmq_wss"
    return Options(keylog=(str(RECORDINGS / f"{name}.keys.txt"),) if beside else ())


def logged(name: str) -> list[Session]:
    return sessions(RECORDINGS / f"{name}.truth.jsonl")


@cache
def tables(name: str) -> dict[str, pa.Table]:
    return tables_of([capture_of(name)], options_of(name))


@cache
def seen(name: str) -> Observed:
    return Observed(tables(name))


def is_meant(difference: str, session: Session) -> bool:
    """What a client's log cannot know, or says in other words.

    A side that said that it closes need not be the one that closed TCP first, a client does not see the reset behind a Close, and a
    silence of STOMP that pings fill is none of the connection. A silence lasts until TCP ends or the other side speaks, though the client
    has said close_notify and takes that for the end: Artemis does not answer it.
    """
    said = session.summary
    if "-dies-" in session.name and "tls" in said and difference.startswith(f"{session.name}: c2s: max gap "):
        return True
    if "-pings-" in session.name and " ok for a max gap of " in difference:
        return True
    says = said["end_kind"] == "fin" and {"websocket", "tls"} & said.keys()
    return bool(says) and (": ended_by is " in difference or ": end_kind is 'rst'" in difference)


@pytest.mark.parametrize("name", slow_behind(8, NAMES))
def test_every_session_agrees_with_its_log(name: str) -> None:
    found = [line for session in logged(name) for line in differences(session, seen(name)) if not is_meant(line, session)]
    assert not found, "\n".join(found)
    assert not seen(name).unpaired(logged(name))


@pytest.mark.parametrize("name", NAMES)
def test_every_stream_says_what_carries_it_and_for_whom(name: str) -> None:
    wrong = []
    for session in logged(name):
        [row] = seen(name).rows("streams", seen(name).stream_of(session))
        said = session.summary
        if said["transport"] == "tcp" and "origin_ip" not in said:
            continue
        wanted = {"transport": said["transport"], "origin_ip": said.get("origin_ip"), "origin_port": said.get("origin_port")}
        wanted |= {name: said[name] for name in ("outer_octets_c2s", "outer_octets_s2c")}
        wrong += [f"{session.name}: {name} is {row[name]!r}, logged {value!r}" for name, value in wanted.items() if row[name] != value]
    assert not wrong, "\n".join(wrong)


def layers(session: Session, found: Observed) -> dict[str, dict[str, Any]]:
    rows = sorted(found.rows("transports", found.stream_of(session)), key=lambda row: int(row["layer"]))
    return {row["kind"]: row for row in rows}


@pytest.mark.parametrize("name", NAMES)
def test_every_layer_is_what_the_clients_library_told(name: str) -> None:
    wrong = []
    for session in logged(name):
        said, found = session.summary, layers(session, seen(name))
        expected = (["proxy"] if "origin_ip" in said else []) + LAYERS[said["transport"]]
        if list(found) != expected:
            wrong.append(f"{session.name}: layers are {list(found)}, not {expected}")
            continue
        wanted: dict[tuple[str, str], Any] = {(kind, "status"): "read" for kind in expected}
        if session.name.endswith(BROKEN):
            wanted["websocket", "status"] = "partly"
        if tls := said.get("tls"):
            wanted["tls", "tls_version"] = tls["version"].replace("TLSv", "TLS ")
            wanted["tls", "resumed"] = tls["resumed"]
            if tls.get("suite"):
                wanted["tls", "cipher_suite"] = SUITES.get(tls["suite"], tls["suite"])
            if tls["sni"]:
                wanted["tls", "server_name"] = tls["sni"]
        if websocket := said.get("websocket"):
            wanted["http", "http_path"] = websocket["path"]
            wanted["http", "http_status"] = 101
            wanted["http", "subprotocol"] = websocket["subprotocol"]
            if websocket["deflate"] is not None:
                wanted["http", "extensions"] = websocket["deflate"]
            if websocket.get("closed_by"):
                wanted["websocket", "closed_by"] = websocket["closed_by"]
                wanted["websocket", "close_code"] = websocket[f"close_code_{'c2s' if websocket['closed_by'] == 'client' else 's2c'}"]
        for (kind, column), value in wanted.items():
            there = found[kind][column]
            there = bool(there) if column == "extensions" else there
            if there != value:
                wrong.append(f"{session.name}: {kind}.{column} is {there!r}, logged {value!r}")
    assert not wrong, "\n".join(wrong)


def secrets() -> list[bytes]:
    """Passcodes, tokens and cookies of all recordings, and the secrets of their key logs."""
    found = (RECORDINGS / "passcodes.txt").read_bytes().split()
    for name in WITH_KEYS:
        for line in (RECORDINGS / f"{name}.keys.txt").read_text().splitlines():
            if line and not line.startswith("#"):
                value = line.split()[-1].removeprefix("Master-Key:")
                found += [value.encode(), bytes.fromhex(value)]
    return found


def octets_in(lake: Lake) -> Iterator[tuple[str, bytes]]:
    """The octets in tables as they are."""
    for name in sorted(lake.final.keys() | lake.open.keys()):
        table = lake.table(name)
        for column in table.column_names:
            if pa.types.is_binary(table.schema.field(column).type) or pa.types.is_large_binary(table.schema.field(column).type):
                yield f"{name}.{column}", b"\0".join(table.column(column).drop_null().to_pylist())


@pytest.mark.parametrize("name", slow_behind(3, [FALLBACK, *NAMES]))
def test_no_credential_and_no_key_is_in_tables_or_states(name: str) -> None:
    lake = Lake(options_of(name))
    lake.run([capture_of(name)])
    search = Searcher(secrets())
    said = [*said_in(lake), *octets_in(lake)]
    found = [f"{table}: secret {line}, {form}" for table, octets in said for line, form in search.times(octets)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "name", slow_behind(1, every(3, [name for name in NAMES if capture_of(name).endswith(".pcap") and name not in MASKED]))
)
def test_runs_change_nothing(name: str, tmp_path: Path) -> None:
    """In several runs with one file each, all that is in one run, where the files are still there."""
    one, several = Lake(options_of(name)), Lake(options_of(name))
    one.run([capture_of(name)])
    for part in cut(Path(capture_of(name)), tmp_path, [0.2, 0.45, 0.7, 0.9]):
        several.run([part])
    expected, found = one.rows(), several.rows()
    for table in expected.keys() | found.keys():
        assert found.get(table) == expected.get(table), table


@pytest.mark.parametrize("name", slow_behind(0, [*MASKED]))
def test_what_refers_to_a_passcode_of_an_earlier_run_is_missing_and_not_wrong(name: str, tmp_path: Path) -> None:
    """A state has no passcode: a window of deflate lacks its octets. Lengths stay right."""
    one, several = Lake(options_of(name)), Lake(options_of(name))
    one.run([capture_of(name)])
    for part in cut(Path(capture_of(name)), tmp_path, [0.2, 0.45, 0.7, 0.9]):
        several.run([part])
    expected, found = (
        {(row["stream_id"], row["direction"], row["stream_offset"]): row["raw"] for row in lake.table("raw_frames").to_pylist()}
        for lake in (one, several)
    )
    read = {place: octets for place, octets in found.items() if octets is not None}
    assert read.items() <= expected.items()
    assert len(read) > 0.98 * len(expected)


@pytest.mark.parametrize("name", WITH_KEYS)
def test_without_keys_only_that_there_is_tls_is_told(name: str) -> None:
    if name == "rabbitmq_wss":
        pytest.skip("its keys lie within")
    found = Observed(tables_of([capture_of(name)], Options()))
    for session in logged(name):
        if session.summary["transport"] in ("tls", "wss"):
            stream = found.stream_of(session)
            assert "frames" not in found.by_stream or not found.rows("frames", stream)
            assert layers(session, found)["tls"]["status"] == "not_decrypted"


def test_probes_of_a_balancer_are_no_sessions() -> None:
    """HAProxy asks with a header alone: version 2 says LOCAL, version 1 names the balancer itself."""
    found = seen("rabbitmq_proxy")
    taken = {found.stream_of(session) for session in logged("rabbitmq_proxy")}
    probes = [row for row in found.streams if row["stream_id"] not in taken]
    assert {row["origin_source"] for row in probes} == {"proxy", "proxy_local"}
    assert not any(found.rows("sessions", row["stream_id"]) for row in probes)
    assert {row["octets_c2s"] for row in probes} == {0}


def test_sockjs_over_http_is_counted_and_named() -> None:
    found = seen(FALLBACK)
    shown = subprocess.run(
        ["tshark", "-r", capture_of(FALLBACK), "-Y", 'http.request.method == "POST"', "-T", "fields", "-e", "tcp.srcport"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    posts = Counter(map(int, shown.stdout.split()))
    rows = {row["client_port"]: found.rows("transports", row["stream_id"])[-1] for row in found.streams}
    assert {row["transport"] for row in found.streams} == {"sockjs"}
    assert {(row["kind"], row["status"]) for row in rows.values()} == {("sockjs", "unreadable")}
    assert {port: row["lost_units_c2s"] for port, row in rows.items()} == posts
    assert "frames" not in found.by_stream


def test_captures_are_described_by_their_truth() -> None:
    for name in [*NAMES, FALLBACK]:
        head = json.loads((RECORDINGS / f"{name}.truth.jsonl").read_text().splitlines()[0])
        assert (RECORDINGS / head["capture"]).stat().st_size == head["size_octets"]
