"""Tests against brokers that run on this machine."""
