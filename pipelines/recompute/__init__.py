"""Connections that the lake has, computed again from their captures."""
