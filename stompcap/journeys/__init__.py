"""Which SEND a MESSAGE comes from, as far as equal messages and their order tell."""
