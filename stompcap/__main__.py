"""`python -m stompcap`: the command."""

from stompcap.cli.entry import main

if __name__ == "__main__":
    main()
