"""The report: a lake's findings on one HTML page that needs neither network nor scripts."""

from stompcap.report.collect import overview, write
from stompcap.report.page import build

__all__ = ["build", "overview", "write"]
