"""Captures to rows: which of the files named are new, what is read of them as one batch, and the ledger of batches."""
