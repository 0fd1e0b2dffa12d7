"""The command `stompcap`: words and options; what is done stands elsewhere.

Every error people can meet ends in one line on standard error and the exit code of its kind; a traceback only with --verbose.
"""

from __future__ import annotations

import gc
import os
import sys

import typer

from stompcap.cli import export_command, lake_commands, prepare_command, rule_commands, run_commands
from stompcap.errors import StompcapError

app = typer.Typer(
    name="stompcap",
    help="Batch analytics for captured STOMP traffic: captures to Delta tables, ack latencies, heart-beats and compliance.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
run_commands.register(app)
lake_commands.register(app)
export_command.register(app)
rule_commands.register(app)
prepare_command.register(app)

INTERRUPTED = 130  # 128 + SIGINT, as shells say it


def main() -> None:
    """Entry point; ends the process with the right exit code."""
    verbose = "--verbose" in sys.argv
    try:
        app(standalone_mode=True)
    except StompcapError as error:
        _end(str(error), error.exit_code, verbose)
    except KeyboardInterrupt:
        _end("interrupted; what was committed stays, run again to go on", INTERRUPTED, False)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except Exception as error:  # noqa: BLE001 - no traceback reaches a user; --verbose shows it
        from stompcap.cli.failures import explain

        line, code = explain(error)
        _end(line, code, verbose)
    finally:
        gc.freeze()  # else the interpreter looks through all that was loaded once more before it ends, for a second


def job(*words: str) -> None:
    """Entry point of jobs/: a command of `stompcap`, its arguments those of the process."""
    sys.argv[1:1] = words
    main()


def _end(line: str, code: int, verbose: bool) -> None:
    if verbose:
        import traceback

        traceback.print_exc()
    print(f"stompcap: {line}", file=sys.stderr)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
