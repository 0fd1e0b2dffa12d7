"""Delivering: MESSAGE."""
