"""Heart-beats: the intervals agreed on, when octets arrived, and silences that are too long."""
