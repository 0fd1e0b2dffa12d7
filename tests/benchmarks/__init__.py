"""Tests of the benchmark captures; nothing here is timed."""
