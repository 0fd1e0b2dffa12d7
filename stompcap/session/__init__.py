"""Sessions: frames of whole streams to subscriptions, deliveries, transactions, receipts and heart-beats."""

from stompcap.session.analyse import analyse
from stompcap.session.analysis import Analysis, Options
from stompcap.session.dialogue import Dialogue
from stompcap.session.notes import Annotations, SessionNotes

__all__ = ["Analysis", "Annotations", "Dialogue", "Options", "SessionNotes", "analyse"]
