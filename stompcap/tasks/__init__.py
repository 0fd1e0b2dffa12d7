"""How work is put into tasks, and what a task says of what it failed at; nothing here knows what does the tasks."""
