"""What was sent: one row per SEND, with what became of its transaction and its receipt."""
