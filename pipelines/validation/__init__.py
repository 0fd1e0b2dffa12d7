"""Judges the tables of a lake: against the expectations, against figures made once more, and against what other programs took away."""
