"""What becomes of a packet: used, left to scapy, or left out for a reason that table `captures` counts."""

USED, REFUSED, NOT_IP, NOT_TCP, FRAGMENT, MALFORMED, UNKNOWN_LINK, OVERLAP = 0, 1, 2, 3, 4, 5, 6, 7
TUNNEL = 8  # between kernels: another packet lies inside
REASONS = {
    NOT_IP: "not_ip",
    NOT_TCP: "not_tcp",
    FRAGMENT: "ip_fragment",
    MALFORMED: "malformed",
    UNKNOWN_LINK: "unknown_link",
    OVERLAP: "ip_fragment_overlap",
}
