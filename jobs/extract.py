"""spark-submit entry point: captures to bronze; takes the options of `stompcap extract`."""

from stompcap.cli.entry import job

if __name__ == "__main__":
    job("extract")
