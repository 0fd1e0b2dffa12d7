"""Sessions: frames to subscriptions, deliveries, transactions, receipts and heart-beats, whole or step by step."""

from stompcap.session.analysis import Analysis, StepInput
from stompcap.session.carry import carry
from stompcap.session.dialogue import Dialogue
from stompcap.session.facts import Facts, SessionFacts
from stompcap.session.options import Options
from stompcap.session.state import EMPTY, State
from stompcap.session.step import Step, analyse, step

__all__ = ["EMPTY", "Analysis", "Dialogue", "Facts", "Options", "SessionFacts", "State", "Step", "StepInput", "analyse", "carry", "step"]
