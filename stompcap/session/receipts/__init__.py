"""Which receipts were asked for and which came: one row per frame that asks."""
