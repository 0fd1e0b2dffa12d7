"""spark-submit entry point: all metrics; takes the options of `stompcap metrics`."""

from stompcap.cli.main import job

if __name__ == "__main__":
    job("metrics")
