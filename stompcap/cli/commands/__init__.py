"""The commands, each with its options; what they print, and how, is beside this folder."""
