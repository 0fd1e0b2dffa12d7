"""spark-submit entry point: the report as one HTML page; takes the options of `stompcap report`."""

from stompcap.cli.entry import job

if __name__ == "__main__":
    job("report")
