"""A verdict on a client or a broker, from what it said: which rules its traffic tried, and which of them it broke."""

from stompcap.checking.judging import check
from stompcap.checking.verdict import Example, Finding, RuleVerdict, Verdict

__all__ = ["Example", "Finding", "RuleVerdict", "Verdict", "check"]
