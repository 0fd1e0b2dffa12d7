"""What lies between TCP and STOMP: which layers carry a connection's octets, and the octets that each of them gives.

Reassembly gives the octets of TCP streams. A layer takes streams of octets and gives others of the same form, so that layers stack and
what comes behind them does not know that they were there.
"""
