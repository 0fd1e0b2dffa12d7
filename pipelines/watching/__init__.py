"""Reads the files that a capture program writes, round after round."""
