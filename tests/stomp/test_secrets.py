"""Secrets of every kind in every place: none of their octets is left, and what is no secret stays."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from stompcap.settings import Secrets
from stompcap.stomp import Syntax, decode, delimit, mask_repeats, passcodes_of, redact, secret_header_names
from stompcap.stomp.grammar import LENIENT_NAMES, SECRET
from stompcap.stomp.secret_names import is_secret
from stompcap.stomp.single_values import is_secret_name, without_secrets
from tests.e2e.confided import NAMES, forms
from tests.stomp.rows import runs_of

VALUE = b"Zq8-Zq9-Zq7"
HEADERS = (Path(__file__).parent / "header_names.txt").read_text().splitlines()[1:]
PLACES: dict[str, list[bytes | int]] = {
    "CONNECT": [b"CONNECT\n%b:%b\nhost:h\n\n\0"],
    "SEND": [b"SEND\ndestination:/q\n%b:%b\n\nbody\0"],
    "MESSAGE": [b"MESSAGE\r\n%b:%b\r\nmessage-id:1\r\n\r\nbody\0"],
    "unknown": [b"HELLO\n%b:%b\n\n\0"],
    "ERROR": [b"ERROR\nmessage:m\n%b:%b\n\n\0"],
    "quoted in an ERROR": [b"ERROR\nmessage:m\n\nCONNECT\n%b:%b\n\n\0"],
    "quoted in a body": [b"SEND\ndestination:/q\n\nlog CONNECT\nhost:h\n%b:%b\nlogin:x\n\n\0"],
    "quoted in a string": [b'SEND\ndestination:/q\n\n["CONNECT\\nhost:h\\n%b:%b\\nlogin:x\\n\\n\\u0000"]\0'],
    "junk": [b"? junk\n%b:%b\n"],
    "partial": [b"SEND\ndestination:/q\n%b:%b"],
    "blanks": [b"SEND\n \t%b : %b\n\n\0"],
    "spelled": [b"ERROR\nmessage:m\n\nframe C,O,N,N,E,C,T,10,{spelled}10,h,:,x,10,0,\0"],
    "equals": [b"ERROR\nmessage:m\n\nfailed: {login=bob, %b=%b, host=h}\0"],
    "JSON": [b'ERROR\nmessage:m\n\n{"login": "bob", "%b": "%b"}\0'],
}


def masked(parts: list[bytes | int], synced: bool = True) -> bytes:
    octets, runs = runs_of(parts, synced)
    rows = delimit(octets, runs)
    once, _ = redact(octets, rows)
    shown, _ = mask_repeats(once, rows, passcodes_of(octets, rows))
    assert shown.size == octets.size
    changed = shown != octets
    assert (shown[changed] == ord("*")).all()
    frames = rows.frames()
    assert VALUE not in str(decode(octets, frames, np.full(len(frames), 2, np.int8)).to_pylist()).encode()
    return shown.tobytes()


def filled(place: str, name: str) -> list[bytes]:
    spelled = b",".join(bytes([octet]) for octet in name.encode() + b":" + VALUE) + b","
    return [
        part.replace(b"{spelled}", spelled) if b"{spelled}" in part else part % (name.encode(), VALUE)
        for part in PLACES[place] if isinstance(part, bytes)
    ]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_secret_headers_in_every_place(place: str) -> None:
    for name in NAMES:
        shown = masked(filled(place, name))  # type: ignore[arg-type]
        assert VALUE not in shown, name
        assert b"Z,q,8" not in shown, name


@pytest.mark.parametrize("command", [b"CONNECT", b"SEND", b"MESSAGE"])
def test_torn_by_a_gap_wherever_it_is(command: bytes) -> None:
    for name in ("x-token", "passcode", "auth"):
        data = command + b"\ndestination:/q\n%b:%b\nhost:h\n\nbody\0" % (name.encode(), VALUE)
        begin = data.index(b"\n", len(command) + 1)
        for cut in range(begin - 5, data.index(VALUE) + 6):
            for gap in (5, 9):
                assert VALUE[-4:] not in masked([data[:cut], gap, data[cut + gap :]]), (name, cut, gap)
        for start in range(data.index(VALUE) + 1, data.index(VALUE) + 6):
            assert VALUE[-4:] not in masked([data[start:]], synced=False), (name, start)


def test_of_the_names_that_are_used_those_of_secrets_are_masked_and_no_others() -> None:
    assert len(HEADERS) >= 1000
    names = secret_header_names()
    for line in HEADERS:
        name = line.removeprefix("*")
        octets = np.frombuffer(name.encode(), np.uint8)
        assert is_secret(octets, 0, octets.size, names) == is_secret_name(name) == line.startswith("*"), name


def test_of_the_protocols_own_headers_only_the_passcode_is_secret() -> None:
    for settings in (Secrets(), Secrets(add=("*e*", "id", "login"))):
        for name in LENIENT_NAMES:
            octets = np.frombuffer(name.encode(), np.uint8)
            assert is_secret(octets, 0, octets.size, secret_header_names(settings)) == (name == SECRET), name


@pytest.mark.parametrize(
    ("settings", "name", "secret"),
    [
        (Secrets(add=("x-pin",)), "X_Pin", True),
        (Secrets(add=("x-pin",)), "x-pin-2", False),
        (Secrets(add=("*pin*",)), "my.pin.2", True),
        (Secrets(remove=("x-csrf-token",)), "X-CSRF-Token", False),
        (Secrets(remove=("x-csrf-token",)), "x-csrf-token-2", True),
        (Secrets(remove=("*cookie*",)), "set-cookie", False),
        (Secrets(remove=("passcode", "*pass*")), "passcode", True),
    ],
)
def test_settings_add_and_take_away(settings: Secrets, name: str, secret: bool) -> None:
    octets = np.frombuffer(name.encode(), np.uint8)
    assert is_secret(octets, 0, octets.size, secret_header_names(settings)) == secret


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"CONNECT\nlogin:eyJhbGciOi.eyJzdWIi.c2ln\n\n\0", b"CONNECT\nlogin:" + b"*" * 24 + b"\n\n\0"),
        (b"SEND\nx:stomp\\c//bob\\csecret@h:1/\n\n\0", b"SEND\nx:stomp\\c//***********@h:1/\n\n\0"),
        (b"SEND\nx:amqp://u:p/w@h/x\n\n\0", b"SEND\nx:amqp://*****@h/x\n\n\0"),
        (b"SEND\nx:http://h:80/@u\ny:/a//b@c\nz:http://h/a@b\n\n\0", b"SEND\nx:http://h:80/@u\ny:/a//b@c\nz:http://h/a@b\n\n\0"),
        (b"SEND\nx:eyJhbGciOi\n\n\0", b"SEND\nx:eyJhbGciOi\n\n\0"),
        (b"SEND\na:b\n\nhttp://a:b@c\0", b"SEND\na:b\n\nhttp://a:b@c\0"),
        (
            b"ERROR\nmessage:bad passcode:hunter2 host\n\n\tat o.AuthorizationBroker.send(AuthorizationBroker.java:222)\0",
            b"ERROR\nmessage:bad passcode:******* host\n\n\tat o.AuthorizationBroker.send(AuthorizationBroker.java:222)\0",
        ),
        (
            b"ERROR\nmessage:m\n\n o.s.BadCredentialsException: Bad\nx Authorization:Bearer ab.c d\0",
            b"ERROR\nmessage:m\n\n o.s.BadCredentialsException: Bad\nx Authorization:*********** d\0",
        ),
    ],
)
def test_values_and_texts(said: bytes, expected: bytes) -> None:
    assert masked([said]) == expected


SECRET_VALUE = 's3<r"é/t+&\\9'
FORMS = [
    *(base64.b64encode(b"x" * before + SECRET_VALUE.encode() + b"y" * 3) for before in range(3)), *forms(SECRET_VALUE, "bob"),
    quote(SECRET_VALUE, safe="").lower().encode(), json.dumps(SECRET_VALUE, ensure_ascii=False)[1:-1].encode(),
    json.dumps(SECRET_VALUE)[1:-1].encode(),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_what_a_connection_gave_is_masked_in_every_form(form: bytes) -> None:
    opening = f"CONNECT\nlogin:bob\npasscode:{SECRET_VALUE}\n\n\0".encode()
    for body in (b"MESSAGE\na:b\n\nsaid %b.\0" % form, b"ERROR\nmessage:m\nx:%b\n\n\0" % form):
        octets, runs = runs_of([opening + body])
        rows = delimit(octets, runs)
        shown, _ = mask_repeats(redact(octets, rows)[0], rows, passcodes_of(octets, rows))
        core = form[2:-5] if form.isalnum() else form
        assert core not in shown.tobytes()


def test_a_token_as_login_is_told() -> None:
    from stompcap.assembly.rows import redacted_octets
    from stompcap.options import Options

    octets, runs = runs_of([b"CONNECT\nlogin:eyJhbGciOi.eyJzdWIi.c2ln\n\n\0"])
    view = redacted_octets(octets, delimit(octets, runs), Options(), {})
    assert Syntax.TOKEN_LOGIN in Syntax(int(view.syntax[0]))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("X-Api_Key", "a", "***"), ("login", "eyJh.b.c", "***"), ("x", "stomp://bob:s@h", "stomp://***@h"), ("x", "a", "a"),
        ("token", None, None), ("destination", "/q", "/q"),
    ],
)  # fmt: skip
def test_single_values(name: str, value: str | None, expected: str | None) -> None:
    assert without_secrets(name, value) == expected
