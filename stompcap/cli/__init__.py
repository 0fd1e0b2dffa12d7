"""What people see: the command, its words, and how results are shown on a terminal."""
