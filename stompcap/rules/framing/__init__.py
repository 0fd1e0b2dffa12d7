"""Framing: octets to frames, their commands, headers and bodies."""
