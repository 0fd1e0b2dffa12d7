"""The version of this package, as it was installed."""

from __future__ import annotations


def version() -> str:
    """Looking it up takes longer than all that a command does before it heeds Ctrl-C: nothing that is imported asks."""
    from importlib import metadata

    try:
        return metadata.version("stompcap")
    except metadata.PackageNotFoundError:  # a folder or an archive on the path, as --py-files makes
        return "0+unknown"
