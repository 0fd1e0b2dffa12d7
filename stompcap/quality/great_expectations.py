"""Great Expectations, imported in one place: with Spark Connect hidden, and without its reports on its use.

Great Expectations imports Spark Connect where it finds it, and pyspark ends the process where Spark Connect's packages are missing and
the program is no file, as in `python -c` (pyspark.sql.connect.utils.check_dependencies).

A third of the time of the import is that of libraries which few expectations use and none of ours: they are imported at their first use.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # read once, when the package is imported

_CONNECT = ("pyspark.sql.connect.dataframe", "pyspark.sql.connect.session")
_LATER = ("scipy.stats", "altair")
_MLLIB = "pyspark.ml.feature"


class _Later(ModuleType):
    """Stands for a module until an attribute of it is asked for; that of `importlib.util.LazyLoader` is loaded when it is imported."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks for some
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)


def _later(name: str) -> ModuleType:
    module = _Later(name)
    module.__spec__ = find_spec(name)
    return module


class _MLlib(ModuleType):
    """Stands for the module of MLlib that the histogram of a column in Spark needs, and no other expectation."""

    @staticmethod
    def Bucketizer(**given: Any) -> Any:  # noqa: N802  the name that Great Expectations imports
        return import_module(_MLLIB).Bucketizer(**given)


_HIDDEN = [name for name in _CONNECT if find_spec("grpc") is None and name not in sys.modules]
_PUT_OFF = [name for name in _LATER if name not in sys.modules and find_spec(name) is not None]
sys.modules.update({name: _later(name) for name in _PUT_OFF})
if _MLLIB not in sys.modules:
    sys.modules[_MLLIB] = _MLlib(_MLLIB)
    _PUT_OFF.append(_MLLIB)
sys.modules.update(dict.fromkeys(_HIDDEN))  # type: ignore[arg-type]  # None hides a module from the import system
try:
    import great_expectations as gx
    import great_expectations.expectations as gxe
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
finally:
    for _name in (*_HIDDEN, *_PUT_OFF):
        sys.modules.pop(_name, None)

__all__ = ["ExpectationConfiguration", "gx", "gxe"]
