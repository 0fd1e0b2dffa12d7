"""A verdict on a client or a broker, from what it said: which rules its traffic tried, and which of them it broke."""

from stompcap.checking.dialogue import Dialogue, DialogueFrame
from stompcap.checking.judging import Asked, check, tables_of, verdict_of
from stompcap.checking.verdict import Example, Finding, RuleVerdict, Verdict

__all__ = [
    "Asked", "Dialogue", "DialogueFrame", "Example", "Finding", "RuleVerdict", "Verdict", "check", "tables_of", "verdict_of",
]
