"""spark-submit entry point: all metrics; takes the options of `stompcap metrics`."""

from stompcap.cli.entry import job

if __name__ == "__main__":
    job("metrics")
