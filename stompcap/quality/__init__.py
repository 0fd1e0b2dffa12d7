"""Data quality: Great Expectations checks the lake's tables against their declarations and invariants."""

from stompcap.quality.last import last
from stompcap.quality.validate import prepare, validate
from stompcap.quality.words import failure

__all__ = ["failure", "last", "prepare", "validate"]
