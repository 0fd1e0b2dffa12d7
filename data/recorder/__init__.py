"""Recorder: drives real STOMP brokers on loopback, captures packets, keeps each client's own log as truth.

Nothing here imports stompcap: the truth must come from another hand than the program it judges.
"""
