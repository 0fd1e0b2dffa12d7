"""Data quality: the lake's tables against their declarations and invariants, judged by Great Expectations."""

from stompcap.quality.validate import prepare, validate

__all__ = ["prepare", "validate"]
