"""Incidents as sentences: level, numbers and words of each kind, made from what the tables hold and nothing else."""
