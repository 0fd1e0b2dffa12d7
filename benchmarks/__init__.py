"""What this pipeline costs, compared with the tools people use today."""
