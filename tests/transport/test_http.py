"""Heads of requests and answers, and what is kept of them."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.transport import http
from tests.transport.in_websocket import ACCEPT, KEY, answer, request


def test_the_example_of_rfc_6455_is_accepted():
    assert http.accepts(KEY, ACCEPT)
    assert not http.accepts(KEY, ACCEPT[:-2] + "x=")


@given(st.sampled_from(["GET", "POST", "OPTIONS"]), st.text("abcd/?=%1", max_size=20),
       st.lists(st.tuples(st.sampled_from(["Host", "Origin", "x-forwarded-for", "Upgrade", "Connection"]),
                          st.text("abc, ;=1.-", max_size=12)), max_size=6, unique_by=lambda one: one[0]))  # fmt: skip
def test_h11_reads_the_same(method, target, fields):
    lines = [f"{method} /{target} HTTP/1.1", *(f"{name}: {value}" for name, value in [("Host", "a"), *fields[1:]]), "", ""]
    octets = "\r\n".join(lines).encode()
    oracle = h11.Connection(h11.SERVER)
    oracle.receive_data(octets)
    try:
        event = oracle.next_event()
    except h11.RemoteProtocolError:
        return
    found = http.head_of(octets + b"more")
    assert found.length == len(octets)
    assert (found.method, found.target) == (event.method.decode(), event.target.decode())
    assert {(n.decode().lower(), v.decode()) for n, v in event.headers} == {(n, v.strip()) for n, v in found.fields.items()}


@pytest.mark.parametrize("end", range(0, len(request()), 7))
def test_a_head_that_is_not_whole_is_none_yet(end):
    assert http.head_of(request()[:end]) is None


@pytest.mark.parametrize("octets", [b"CONNECT\nlogin:x\n\n\0", b"\x16\x03\x01", b"GET / HTTP/2.0\r\n\r\n", b"HTTP/1.1 20 OK\r\n\r\n"])
def test_what_is_no_head_has_no_length(octets):
    found = http.head_of(octets)
    assert found is not None
    assert found.length == 0


def test_upgrades():
    assert http.head_of(request()).upgrades
    assert http.head_of(answer()).upgrades
    assert not http.head_of(answer(status="401 Unauthorized")).upgrades


PATHS = {
    "/ws?access_token=s3cret": "/ws", "/ws;jsessionid=s3cret?x=1": "/ws", "/a;b=c/d": "/a/d", "http://host/stomp?x": "/stomp", "*": "*",
    "/sockjs/501/sahic5lt/websocket": "/sockjs/501/sahic5lt/websocket", "/a%20b/c": "/*/c", "/": "/", "?x": "/", "/" + "x" * 80: "/*",
}  # fmt: skip


@pytest.mark.parametrize(("target", "path"), PATHS.items())
def test_of_a_target_the_path_is_kept(target, path):
    assert http.path_of(target) == path


def test_of_sub_protocols_those_of_stomp_are_kept():
    assert http.subprotocols("v12.stomp, base64.s3cret , stomp") == "v12.stomp, *, stomp"
    assert http.subprotocols(None) is None


EXTENSIONS = {
    None: (None, None),
    "permessage-deflate": (http.Deflate(), "permessage-deflate"),
    "permessage-deflate; server_no_context_takeover; client_max_window_bits=10":
        (http.Deflate(server_takeover=False, client_bits=10), "permessage-deflate; server_no_context_takeover; client_max_window_bits=10"),
    'x-other; token="s3cret", permessage-deflate;server_max_window_bits="9"':
        (http.Deflate(server_bits=9), 'x-other, permessage-deflate; server_max_window_bits="9"'),
    "x-webkit-deflate-frame": (None, "x-webkit-deflate-frame"),
}  # fmt: skip


@pytest.mark.parametrize(("said", "found"), EXTENSIONS.items())
def test_extensions(said, found):
    assert (http.deflate_of(said), http.extensions_of(said)) == found


IPV6 = bytes.fromhex("20010db8" + "0" * 23 + "7")
ORIGINS = {
    ("x-forwarded-for", "203.0.113.7, 198.51.100.1"): (bytes((203, 0, 113, 7)), None, "x_forwarded_for"),
    ("x-forwarded-for", "unknown"): None,
    ("forwarded", 'proto=https;for="[2001:db8::7]:4711";by=1.2.3.4, for=9.9.9.9'): (IPV6, 4711, "forwarded"),
    ("forwarded", "for=203.0.113.7"): (bytes((203, 0, 113, 7)), None, "forwarded"),
    ("forwarded", "for=_hidden"): None,
    ("x-forwarded-for", "203.0.113.7:80"): (bytes((203, 0, 113, 7)), 80, "x_forwarded_for"),
}  # fmt: skip


@pytest.mark.parametrize(("field", "origin"), ORIGINS.items())
def test_who_is_claimed_to_have_opened_the_connection(field, origin):
    assert http.origin_of(http.Head(1, fields=dict([field]))) == origin


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=5), st.lists(st.integers(1, 60), max_size=9))
def test_bodies_are_skipped_however_they_come(chunks, cuts):
    octets = b"".join(b"%x;a=b\r\n%s\r\n" % (len(one), one) for one in chunks) + b"0\r\nX: y\r\n\r\n"
    rest, body, taken = octets + b"GET", http.Body(chunked=True), 0
    for size in [*cuts, len(rest)]:
        if body.over:
            break
        taken += body.skip(rest[taken : taken + size])
    assert body.over
    assert taken == len(octets)
