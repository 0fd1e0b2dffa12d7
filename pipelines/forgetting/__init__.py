"""Connections deleted from every table, and what goes of the ledger with them."""
