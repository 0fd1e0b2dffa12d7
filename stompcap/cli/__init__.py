"""The command line: commands, options, and how results are shown on a terminal."""
