"""The documents that a site is made of: their commands, their links, their generated pages."""
