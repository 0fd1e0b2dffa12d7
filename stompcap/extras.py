"""Which packages come with which extra, and what to install where one is missing: the only place that knows.

`pip install stompcap` reads captures; `stompcap[lake]` asks the tables, `stompcap[spark]` writes them. Nothing else in this package handles
a missing package: modules import what they need, and an import that fails is explained here, as one line with the command that helps.
"""

from __future__ import annotations

from importlib.util import find_spec

from stompcap.errors import EnvironmentProblem

LAKE, SPARK, JIT = "lake", "spark", "jit"
PACKAGES = {
    LAKE: ("deltalake", "duckdb", "jinja2", "vl_convert"),
    SPARK: ("pyspark", "delta", "pandas", "great_expectations", "prometheus_client"),
    JIT: ("numba",),
}
"""By extra the names that are imported. [spark] includes the others. Without numba, kernels are those of the wheel, if it has some."""
INCLUDED = {LAKE: (LAKE,), SPARK: (LAKE, SPARK, JIT), JIT: (JIT,)}


def lacking(error: BaseException) -> str | None:
    """What to install, where an import failed for want of a package of an extra; else None."""
    if not isinstance(error, ModuleNotFoundError):
        return None
    package = (error.name or "").split(".")[0]
    for extra, packages in PACKAGES.items():
        if package in packages:
            return f"{package} is not installed; {command(extra)}"
    return None


def demand(extra: str, what: str) -> None:
    """Raise EnvironmentProblem where a package of an extra is missing; `what` needs it."""
    for package in (one for included in INCLUDED[extra] for one in PACKAGES[included]):
        if not there(package):
            raise EnvironmentProblem(f"{what} needs {package}, which is not installed; {command(extra)}")


def has(extra: str) -> bool:
    """Whether all packages of an extra are installed."""
    return all(there(package) for included in INCLUDED[extra] for package in PACKAGES[included])


def there(package: str) -> bool:
    """Whether a package can be imported, as far as that is known without importing it."""
    try:
        return find_spec(package) is not None
    except (ModuleNotFoundError, ValueError):  # a finder refuses it; a module in memory has no origin
        return False


def command(extra: str) -> str:
    """What to run to have an extra."""
    return f"run: pip install 'stompcap[{extra}]'"
