"""Transactions: BEGIN, COMMIT and ABORT."""
