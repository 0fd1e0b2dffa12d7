"""Receipts: what a client asks for and RECEIPT answers."""
