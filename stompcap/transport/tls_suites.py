"""Cipher suites of TLS 1.2 and 1.3: their names, and how they protect records.

IANA's registry of TLS Cipher Suites; RFC 5246, 5288, 6655, 7905, 8446.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

GCM, CHACHA, CCM, CBC = "GCM", "CHACHA20_POLY1305", "CCM", "CBC"
TAG = 16


@dataclass(frozen=True)
class Suite:
    """A suite: its name, its kind of protection, octets of a key and of a tag, the hash of its key schedule, and of CBC the MAC's."""

    name: str
    kind: str
    key: int
    hash: str
    tag: int = TAG
    mac: str = ""


_EXCHANGES_CBC = {
    "RSA": (0x002F, 0x0035, 0x003C, 0x003D, None), "DHE_DSS": (0x0032, 0x0038, 0x0040, 0x006A, None),
    "DHE_RSA": (0x0033, 0x0039, 0x0067, 0x006B, None), "DH_anon": (0x0034, 0x003A, 0x006C, 0x006D, None),
    "PSK": (0x008C, 0x008D, 0x00AE, None, 0x00AF), "ECDH_ECDSA": (0xC004, 0xC005, 0xC025, None, 0xC026),
    "ECDHE_ECDSA": (0xC009, 0xC00A, 0xC023, None, 0xC024), "ECDH_RSA": (0xC00E, 0xC00F, 0xC029, None, 0xC02A),
    "ECDHE_RSA": (0xC013, 0xC014, 0xC027, None, 0xC028), "ECDH_anon": (0xC018, 0xC019, None, None, None),
    "ECDHE_PSK": (0xC035, 0xC036, 0xC037, None, 0xC038), "DHE_PSK": (0x0090, 0x0091, 0x00B2, None, 0x00B3),
}  # fmt: skip
"""By key exchange: the codes of AES_128_CBC_SHA, AES_256_CBC_SHA, AES_128_CBC_SHA256, AES_256_CBC_SHA256, AES_256_CBC_SHA384."""

_GCM = {
    "RSA": 0x009C, "DHE_RSA": 0x009E, "DHE_DSS": 0x00A2, "DH_anon": 0x00A6, "PSK": 0x00A8, "DHE_PSK": 0x00AA, "RSA_PSK": 0x00AC,
    "ECDHE_ECDSA": 0xC02B, "ECDH_ECDSA": 0xC02D, "ECDHE_RSA": 0xC02F, "ECDH_RSA": 0xC031, "ECDHE_PSK": 0xD001,
}  # fmt: skip
"""By key exchange: the code of AES_128_GCM_SHA256; that of AES_256_GCM_SHA384 is the next."""

_CHACHA = {"ECDHE_RSA": 0xCCA8, "ECDHE_ECDSA": 0xCCA9, "DHE_RSA": 0xCCAA, "PSK": 0xCCAB, "ECDHE_PSK": 0xCCAC, "DHE_PSK": 0xCCAD}
_CCM = {"RSA": (0xC09C, 0xC0A0), "DHE_RSA": (0xC09E, 0xC0A2), "PSK": (0xC0A4, 0xC0A8), "ECDHE_ECDSA": (0xC0AC, 0xC0AE)}
"""By key exchange: the codes of AES_128_CCM and AES_128_CCM_8; those with AES_256 are the next."""


def _of_1_2() -> dict[int, Suite]:
    """The suites of TLS 1.2 that are read, by code."""
    found = dict[int, Suite]()
    ciphers = ((16, "SHA", "sha1"), (32, "SHA", "sha1"), (16, "SHA256", "sha256"), (32, "SHA256", "sha256"), (32, "SHA384", "sha384"))
    for exchange, codes in _EXCHANGES_CBC.items():
        for code, (key, name, mac) in zip(codes, ciphers, strict=True):
            if code is not None:
                schedule = "sha384" if mac == "sha384" else "sha256"
                found[code] = Suite(f"TLS_{exchange}_WITH_AES_{8 * key}_CBC_{name}", CBC, key, schedule, 0, mac)
    for exchange, code in _GCM.items():
        found[code] = Suite(f"TLS_{exchange}_WITH_AES_128_GCM_SHA256", GCM, 16, "sha256")
        found[code + 1] = Suite(f"TLS_{exchange}_WITH_AES_256_GCM_SHA384", GCM, 32, "sha384")
    for exchange, code in _CHACHA.items():
        found[code] = Suite(f"TLS_{exchange}_WITH_CHACHA20_POLY1305_SHA256", CHACHA, 32, "sha256")
    for exchange, pair in _CCM.items():
        for code, end, tag in zip(pair, ("CCM", "CCM_8"), (16, 8), strict=True):
            for more, key in enumerate((16, 32)):
                found[code + more] = Suite(f"TLS_{exchange}_WITH_AES_{8 * key}_{end}", CCM, key, "sha256", tag)
    return found


SUITES_1_2 = MappingProxyType(_of_1_2())
SUITES_1_3 = MappingProxyType({
    0x1301: Suite("TLS_AES_128_GCM_SHA256", GCM, 16, "sha256"), 0x1302: Suite("TLS_AES_256_GCM_SHA384", GCM, 32, "sha384"),
    0x1303: Suite("TLS_CHACHA20_POLY1305_SHA256", CHACHA, 32, "sha256"), 0x1304: Suite("TLS_AES_128_CCM_SHA256", CCM, 16, "sha256"),
    0x1305: Suite("TLS_AES_128_CCM_8_SHA256", CCM, 16, "sha256", 8),
})  # fmt: skip
"""RFC 8446, appendix B.4."""


def name_of(code: int) -> str:
    """The name of a suite, or its code in hexadecimal where this has no name for it."""
    found = SUITES_1_3.get(code) or SUITES_1_2.get(code)
    return found.name if found else f"0x{code:04X}"
