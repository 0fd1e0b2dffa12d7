"""spark-submit entry point: ack latency per hour and destination; takes the options of `stompcap metrics`."""

from stompcap.cli.entry import job

if __name__ == "__main__":
    job("metrics", "--only", "ack_latency")
