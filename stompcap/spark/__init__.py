"""The rim where the library meets Spark: session, data source, lake, column functions."""

from stompcap.spark.functions import decode
from stompcap.spark.lake import read, views
from stompcap.spark.session import get_session
from stompcap.spark.source import register

__all__ = ["decode", "get_session", "read", "register", "views"]
