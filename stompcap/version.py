"""The installed version of this package."""

from __future__ import annotations


def version() -> str:
    """The version. Looked up on request only: it takes longer than all that a command does before it handles Ctrl-C."""
    from importlib import metadata

    try:
        return metadata.version("stompcap")
    except metadata.PackageNotFoundError:  # a folder or an archive on the path, as --py-files makes
        return "0+unknown"
