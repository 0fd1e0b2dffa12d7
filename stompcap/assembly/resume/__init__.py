"""What goes on from one run to the next: segments that are computed again, and the saved states of machines."""
