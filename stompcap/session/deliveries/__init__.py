"""What was delivered, and what became of it: one row per MESSAGE."""
