"""Recorded captures of real brokers, their ground truth, and the recorder that made them."""
