"""What clients did in transactions: one row per BEGIN."""
