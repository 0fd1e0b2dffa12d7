"""Errors: ERROR, and how the connection ends with it."""
