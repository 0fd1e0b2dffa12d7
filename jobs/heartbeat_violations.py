"""spark-submit entry point: heart-beats and their violations; takes the options of `stompcap metrics`."""

from stompcap.cli.entry import job

if __name__ == "__main__":
    job("metrics", "--only", "heartbeats")
