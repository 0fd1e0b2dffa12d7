"""Client libraries against `stompcap serve` and brokers against `stompcap drive`: the results behind docs/conformance.md."""
