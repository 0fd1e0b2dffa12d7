"""Data quality: Great Expectations checks the lake's tables against their declarations and invariants."""

from stompcap.quality.last import last
from stompcap.quality.noted import began_anew
from stompcap.quality.validate import prepare, validate
from stompcap.quality.wording import GOES_ON, ONE_POINT, failure

__all__ = ["GOES_ON", "ONE_POINT", "began_anew", "failure", "last", "prepare", "validate"]
