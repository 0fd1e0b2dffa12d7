"""spark-submit entry point: what rotates into folders, round by round; takes the options of `stompcap watch`."""

from stompcap.cli.entry import job

if __name__ == "__main__":
    job("watch")
