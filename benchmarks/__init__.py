"""What this pipeline costs, measured beside the tools people use today."""
