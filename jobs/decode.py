"""spark-submit entry point: raw frames to frames; takes the options of `stompcap decode`."""

from stompcap.cli.entry import job

if __name__ == "__main__":
    job("decode")
