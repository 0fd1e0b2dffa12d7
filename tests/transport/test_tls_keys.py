"""Records of CBC suites (RFC 5246, 6.2.3.2; RFC 7366) are opened together, up to the first that is not as it was sent."""

from __future__ import annotations

import hmac
import random

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from stompcap.transport.tls_keys import BLOCK, HEAD, Mac, OpenerCbc, unwrapped
from stompcap.transport.tls_suites import CBC, SUITES_1_2

SUITES = [code for code, suite in SUITES_1_2.items() if suite.kind == CBC]
SIZES = {"sha1": 20, "sha256": 32, "sha384": 48}


def record(dice: random.Random, key: bytes, mac: bytes, name: str, number: int, plain: bytes, encrypt_then_mac: bool) -> bytes:
    """A record with a head, written by the letter of the specifications."""
    head, iv = b"\x17\x03\x03", dice.randbytes(BLOCK)

    def tag(octets: bytes) -> bytes:
        return hmac.digest(mac, number.to_bytes(8, "big") + head + len(octets).to_bytes(2, "big") + octets, name)

    text = plain if encrypt_then_mac else plain + tag(plain)
    padding = BLOCK - len(text) % BLOCK + BLOCK * dice.randrange(3)
    machine = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
    body = iv + machine.update(text + bytes([padding - 1]) * padding)
    body += tag(body) if encrypt_then_mac else b""
    return head + len(body).to_bytes(2, "big") + body


@pytest.mark.parametrize("encrypt_then_mac", [False, True])
@pytest.mark.parametrize("code", SUITES)
def test_records_are_opened_up_to_the_first_that_was_changed(code: int, encrypt_then_mac: bool) -> None:
    suite, dice = SUITES_1_2[code], random.Random(code)
    key, mac = dice.randbytes(suite.key), dice.randbytes(SIZES[suite.mac])
    opener = OpenerCbc(suite, key, mac, encrypt_then_mac=encrypt_then_mac)
    plains = [dice.randbytes(dice.choice((0, 1, 15, 16, 300))) for _ in range(12)]
    wire = [record(dice, key, mac, suite.mac, 7 + number, plain, encrypt_then_mac) for number, plain in enumerate(plains)]
    begins = [sum(map(len, wire[:number])) + HEAD for number in range(len(wire))]
    lengths = [len(one) - HEAD for one in wire]
    octets = b"".join(wire)
    assert opener.run(octets, begins, lengths, range(12), 7) == plains
    assert opener.run(octets, begins, lengths, range(3, 9), 10) == plains[3:9]
    assert not opener.run(octets, begins, lengths, range(12), 8)
    assert [opener.open(one[:HEAD], one[HEAD:], 7 + number) for number, one in enumerate(wire)] == plains
    for _ in range(60):
        of = dice.randrange(12)
        at = begins[of] + dice.randrange(lengths[of])
        changed = octets[:at] + bytes([octets[at] ^ 1 << dice.randrange(8)]) + octets[at + 1 :]
        assert opener.run(changed, begins, lengths, range(12), 7) == plains[:of]
    for cut in (1, BLOCK, 2 * BLOCK):
        assert opener.open(wire[0][:HEAD], wire[0][HEAD : HEAD + cut], 7) is None


@pytest.mark.parametrize("name", SIZES)
def test_a_mac_is_what_the_standard_library_says(name: str) -> None:
    for size in (0, 20, 32, 48, 64):
        key = bytes(range(size))
        assert Mac(key, name).of(b"octets") == hmac.digest(key, b"octets", name)


def test_types_stand_behind_what_records_carry_before_zeros() -> None:
    assert unwrapped([b"one\x17", b"two\x16\0\0", b"\x15", b"\0\0", b""]) == ([b"one", b"two", b"", b"", b""], b"\x17\x16\x15\0\0")
