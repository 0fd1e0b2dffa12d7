"""spark-submit entry point: rules kept and broken; takes the options of `stompcap metrics`."""

from stompcap.cli.entry import job

if __name__ == "__main__":
    job("metrics", "--only", "compliance")
