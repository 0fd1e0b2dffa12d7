"""Subscribing: SUBSCRIBE and UNSUBSCRIBE."""
