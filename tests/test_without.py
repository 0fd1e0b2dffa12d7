"""Modules that are kept from being imported: for one thread meanwhile, and numba's functions of others have SciPy all the same."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from threading import Thread

import pytest

from stompcap import without


def test_a_module_is_not_there_meanwhile_in_this_thread() -> None:
    found: list[object] = []
    with without.meanwhile("this"):
        with pytest.raises(ModuleNotFoundError, match="this is not used here"):
            find_spec("this")
        thread = Thread(target=lambda: found.append(find_spec("this")))
        thread.start()
        thread.join()
    assert found[0] is not None
    assert find_spec("this") is not None


@pytest.mark.slow
def test_kernels_come_without_scipy_and_functions_of_others_find_its_blas() -> None:
    program = (
        "import sys, numpy as np, numba\n"
        "from stompcap import kernel\n"
        "kernel.ready(); assert 'scipy.linalg' not in sys.modules\n"
        "dot = numba.njit(lambda a: np.dot(a, a)); covariance = numba.njit(lambda a: np.cov(a))\n"
        "a = np.arange(4.0).reshape(2, 2); assert (dot(a) == a @ a).all() and (covariance(a) == np.cov(a)).all()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
