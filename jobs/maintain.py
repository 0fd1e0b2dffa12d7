"""spark-submit entry point: compact small files and remove what no table names any more; takes the options of `stompcap maintain`."""

from stompcap.cli.entry import job

if __name__ == "__main__":
    job("maintain")
