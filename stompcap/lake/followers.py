"""From which version on the changes of a table can be followed, which the table says in its property `stompcap.changesFrom`.

A reader of the change feed reads the files that commits added and removed. Of those that runs replaced, the older are deleted
(`stompcap.lake.replaced`, `stompcap maintain`), as are old entries of the log: who comes later than that begins at this version, with the
rows that the table had then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyarrow import fs

from stompcap.lake import delta_log
from stompcap.lake.paths import filesystem

if TYPE_CHECKING:
    from deltalake import DeltaTable

PROPERTY = "stompcap.changesFrom"


def tell(table: DeltaTable) -> None:
    """Have the table say from which version on its changes can be followed, if it says otherwise."""
    if table.metadata().configuration.get(PROPERTY, "0") != (found := str(first_version(table))):
        table.alter.set_table_properties({PROPERTY: found}, raise_if_not_exists=False)


def first_version(table: DeltaTable) -> int:
    """The least version from which a change feed can be read to its end; one more than the latest where not even that has its files."""
    system, folder = filesystem(delta_log.root(table))
    there = {one.path.rpartition("/")[2] for one in system.get_file_info(fs.FileSelector(folder)) if one.type == fs.FileType.File}
    found = begun = table.version() + 1
    for version, names, feed in delta_log.touched(table):
        if feed is False:
            return begun
        if not names <= there:
            return found
        found = version
        begun = version if feed else begun
    return found
