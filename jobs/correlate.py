"""spark-submit entry point: frames to sessions, deliveries, transactions and receipts; takes the options of `stompcap correlate`."""

from stompcap.cli.entry import job

if __name__ == "__main__":
    job("correlate")
