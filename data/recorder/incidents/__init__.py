"""Incidents that are made to happen to real brokers, beside traffic that has none; `python -m data.recorder.incidents OUTDIR`."""
