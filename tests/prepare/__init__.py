"""Tests of what is done ahead of a first run."""
