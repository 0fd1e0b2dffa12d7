"""What a first run would otherwise wait for, done ahead: `stompcap prepare`."""

from stompcap.prepare.kernels import compiled, prepare, ship

__all__ = ["compiled", "prepare", "ship"]
