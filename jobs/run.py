"""spark-submit entry point: everything, from captures to validation; takes the options of `stompcap run`."""

from stompcap.cli.entry import job

if __name__ == "__main__":
    job("run")
