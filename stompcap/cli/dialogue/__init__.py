"""Sessions as dialogues: lines made from the rows of tables, and their form for people and programs."""
