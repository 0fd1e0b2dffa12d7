"""Tests of what goes on from run to run."""
