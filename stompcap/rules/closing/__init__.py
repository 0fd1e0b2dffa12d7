"""Closing: DISCONNECT and the end of the connection."""
