"""Acknowledging: ACK and NACK."""
