"""Packagings: one recorded capture taken apart to its TCP segments, and put together again in any other way."""
