"""Rules: how well sessions keep to the STOMP specifications. One record and one small function each."""

from stompcap.rules.catalogue import RULES, catalogue_table, settings_of
from stompcap.rules.engine import judge
from stompcap.rules.explain import explain_rule, list_rules
from stompcap.rules.record import Judged, Rule

__all__ = ["RULES", "Judged", "Rule", "catalogue_table", "explain_rule", "judge", "list_rules", "settings_of"]
