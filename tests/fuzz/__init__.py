"""Hostile input in bulk: long tests that look for anything but rows or the documented error."""
