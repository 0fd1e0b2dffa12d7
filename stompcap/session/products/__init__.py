"""Which broker and which client library speak."""
