"""`peek --trace`: one connection through all machines, and what each of them made of it."""
