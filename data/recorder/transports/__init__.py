"""STOMP inside WebSocket and TLS, and behind balancers: brokers, layers upon a client's socket, and programs of client libraries.

The layers are made of other libraries than those that stompcap reads them with, or of none: wsproto, OpenSSL by Python's `ssl` and as a
program, Node's `ws` and `tls`, HAProxy.
"""
