"""Recorder: drives real STOMP brokers on loopback, captures packets, and keeps each client's own log as truth.

Nothing here imports stompcap: the truth must be independent of the program that it tests.
"""
