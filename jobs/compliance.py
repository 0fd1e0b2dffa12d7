"""spark-submit entry point: rules kept and broken; takes the options of `stompcap metrics`."""

from stompcap.cli.main import job

if __name__ == "__main__":
    job("metrics", "--only", "compliance")
