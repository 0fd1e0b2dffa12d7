"""Recorder: drives real STOMP brokers on loopback, captures the packets and keeps each client's own log as ground truth.

Nothing here imports stompcap: the truth must come from another hand than the program it judges.
"""
