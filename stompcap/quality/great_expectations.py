"""Great Expectations, imported in one place: with Spark Connect hidden, and without its reports on its use.

Great Expectations imports Spark Connect where it finds it, and pyspark ends the process where Spark Connect's packages are missing and
the program is no file, as in `python -c` (pyspark.sql.connect.utils.check_dependencies).
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # read once, when the package is imported

_CONNECT = ("pyspark.sql.connect.dataframe", "pyspark.sql.connect.session")
_HIDDEN = [name for name in _CONNECT if find_spec("grpc") is None and name not in sys.modules]
sys.modules.update(dict.fromkeys(_HIDDEN))  # type: ignore[arg-type]  # None hides a module from the import system
try:
    import great_expectations as gx
    import great_expectations.expectations as gxe
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
finally:
    for _name in _HIDDEN:
        sys.modules.pop(_name, None)

__all__ = ["ExpectationConfiguration", "gx", "gxe"]
