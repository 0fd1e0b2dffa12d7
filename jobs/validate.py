"""spark-submit entry point: check the tables against the expectations; takes the options of `stompcap validate`."""

from stompcap.cli.entry import job

if __name__ == "__main__":
    job("validate")
