"""The verdict on a packet: used, left to others, or skipped for a reason that table `captures` counts."""

from stompcap.tables.words import SKIPPED

USED, REFUSED, NOT_IP, NOT_TCP, FRAGMENT, MALFORMED, LINK_TYPE, OVERLAP = 0, 1, 2, 3, 4, 5, 6, 7
TUNNEL = 8  # between kernels: another packet lies inside
REASONS = dict(zip((NOT_IP, NOT_TCP, FRAGMENT, MALFORMED, LINK_TYPE, OVERLAP), SKIPPED, strict=True))
