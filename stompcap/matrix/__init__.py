"""Products against rules: what each has kept, broken or never tried, with the bytes that prove it."""

from stompcap.matrix.model import Cell, Column, Matrix, Proof, matrix
from stompcap.matrix.subjects import subjects_of

__all__ = ["Cell", "Column", "Matrix", "Proof", "matrix", "subjects_of"]
