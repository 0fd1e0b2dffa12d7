"""Batch analytics for captured STOMP traffic."""
