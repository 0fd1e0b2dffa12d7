"""The active side: a recording proxy, a scripted broker and a scripted client."""
