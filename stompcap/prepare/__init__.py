"""Does ahead what a first run would otherwise wait for: `stompcap prepare`."""

from stompcap.prepare.kernels import compiled, prepare, ship

__all__ = ["compiled", "prepare", "ship"]
