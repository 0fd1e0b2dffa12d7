"""Round after round over the files that a capture program writes."""
