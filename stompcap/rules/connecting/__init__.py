"""Connecting: CONNECT, its answers, and the version agreed on."""
