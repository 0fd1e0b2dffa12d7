"""The tables that sum up all sessions."""
