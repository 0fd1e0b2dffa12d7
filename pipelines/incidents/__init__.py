"""What happened, to whom and since when: the kinds of incidents, each told by what is near in time."""
