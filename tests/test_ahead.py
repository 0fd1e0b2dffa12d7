"""Kernels without numba: which form a call takes, and which forms a wheel needs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from stompcap import ahead, kernels_of_wheel
from stompcap.errors import EnvironmentProblem
from stompcap.kernel import Callee
from stompcap.prepare import extension
from stompcap.prepare.signatures import listed, read, spell


class Pair(NamedTuple):
    one: Any
    other: Any


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (1, "int64"), (True, "bool"), (1.5, "float64"), (np.int32(1), "int32"), (np.bool_(True), "bool"),
        (np.zeros(2, np.uint8), "uint8[::1]"),
        (read_only(np.zeros((2, 3))), "const-float64[:,::1]"), ((1, np.zeros(0, np.bool_)), "(int64,bool[::1])"),
        (Pair(1, (True, 2)), f"{__name__}.Pair(int64,(bool,int64))"),
    ],
)  # fmt: skip
def test_types_are_spelled_as_in_the_list(value: object, says: str) -> None:
    assert ahead.spelled(value) == says
    if "Pair" not in says:
        assert spell(read(says)) == says


def test_tuples_in_the_list_have_the_fields_that_they_have_now() -> None:
    for one in listed():
        one.types()
    with pytest.raises(ValueError, match="Pair: 2 fields, 1 in the list"):
        read(f"{__name__}.Pair(int64)")


AS_WRITTEN = {
    "stompcap.capture.chains.block_octets", "stompcap.capture.integers.u32", "stompcap.capture.outer.tagged",
    "stompcap.capture.outer.within", "stompcap.session.deliveries.outstanding._is_open",
    "stompcap.session.deliveries.outstanding.vague", "stompcap.tcp.idle._over", "stompcap.transport.websocket_frames.head_length",
}  # fmt: skip
"""What is compiled for kernels alone and Python calls too, a few times a file or for whole columns: there it runs uncompiled."""


def test_a_call_takes_the_form_of_its_types_or_one_that_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def some(octets: object, at: int = 0) -> None:
        """A kernel."""

    name = f"{some.__module__}.{some.__qualname__}"
    forms = [f"{name} const-uint8[::1] int64", f"{name} uint8[::1] bool"]
    monkeypatch.setattr(ahead, "listed", lambda: {name: forms})
    monkeypatch.setattr(ahead, "_compiled", lambda symbol: lambda *_: next(form for form in forms if ahead.symbol(form) == symbol))
    kernel: Any = ahead.kernel(some)
    octets = np.zeros(1, np.uint8)
    assert kernel(octets, True) == forms[1]
    assert kernel(octets, 7) == kernel(octets) == kernel(octets, at=np.int32(7)) == forms[0]
    with pytest.raises(EnvironmentProblem, match=r"not compiled for float64\[::1\] int64 in this wheel; run: pip install "):
        kernel(np.zeros(1), 7)
    with pytest.raises(TypeError, match="not contiguous"):
        kernel(np.zeros(4, np.uint8)[::2], 7)


def test_every_kernel_that_python_calls_has_a_form_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    called = list(extension.called_by_python(extension.PACKAGE))
    monkeypatch.setattr(extension, "called_by_python", lambda _: called)  # once is enough: every module is read for it
    lines = {f"{one.module}.{one.function}" for one in listed()}
    functions = {name: function for name in called if hasattr(function := extension.found(name), "py_func")}
    as_written = {name for name, function in functions.items() if isinstance(function, Callee)}
    assert as_written == AS_WRITTEN
    entered = set(functions) - as_written
    assert entered <= lines
    assert {f"{one.module}.{one.function}" for one in extension.wanted()} == entered


@pytest.mark.parametrize(
    ("flags", "missing"),
    [("fpu avx avx2 bmi1 bmi2 f16c fma abm movbe sse4_2", []), ("fpu avx f16c sse4_2 abm movbe", ["avx2", "bmi1", "bmi2", "fma"])],
)
def test_a_processor_that_would_be_given_what_it_cannot_run_is_told(
    flags: str, missing: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "cpuinfo"
    told.write_text(f"processor\t: 0\nmodel name\t: some avx2\nflags\t\t: {flags}\n")
    monkeypatch.setattr(kernels_of_wheel, "PROCESSORS", told)
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "", "", "", "x86_64")))
    assert kernels_of_wheel.lacking() == missing
    if missing:
        with pytest.raises(EnvironmentProblem, match=r"lacks avx2, bmi1, bmi2, fma, which .*; run: pip install 'stompcap\[jit\]'"):
            ahead._modules.__wrapped__()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "", "", "", "aarch64")))
    assert kernels_of_wheel.lacking() == []
