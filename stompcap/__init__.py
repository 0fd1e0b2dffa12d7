"""Batch analytics for captured STOMP traffic."""

from importlib.metadata import version

__version__ = version("stompcap")
