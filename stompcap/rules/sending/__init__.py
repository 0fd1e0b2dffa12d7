"""Sending: SEND."""
