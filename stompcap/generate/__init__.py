"""Synthetic captures with their truth: conversations written as packets, cloned in columns to any size."""
