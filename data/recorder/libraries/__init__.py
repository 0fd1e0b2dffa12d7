"""Client libraries in other languages, one program each; play.py runs them and takes their logs as truth."""
