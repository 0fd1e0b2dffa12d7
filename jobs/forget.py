"""spark-submit entry point: delete the rows of connections; takes the options of `stompcap forget`, and needs --yes or --dry-run."""

from stompcap.cli.entry import job

if __name__ == "__main__":
    job("forget")
