"""Deletes connections from every table, and rows and paths of the ledger that no remaining connection needs."""
