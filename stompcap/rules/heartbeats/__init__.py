"""Heart-beats: what was agreed on, and whether each side keeps to it."""
