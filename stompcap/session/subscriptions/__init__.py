"""Who subscribed to what: one row per SUBSCRIBE."""
