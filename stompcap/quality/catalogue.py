"""All expectations by the names that settings and docs/quality.md have for them, with what they say: `table.column expectation`."""

from __future__ import annotations

import sys

from stompcap.quality.across import BALANCES
from stompcap.quality.clear_secrets import COLUMNS, LENGTHS, MASKED
from stompcap.quality.examples import IN_SET, NOT_NULL, WHOLE, WHOLE_FILES
from stompcap.quality.invariants import INVARIANTS
from stompcap.quality.measures import FEW, RECENT
from stompcap.quality.ranges import checks
from stompcap.quality.report import checked
from stompcap.quality.row_rules import ROW_RULES
from stompcap.quality.user_suites import DRIVER_ROWS
from stompcap.quality.wording import FIGURES, FINISHED, GOES_ON, ONE_POINT, STAY
from stompcap.tables import TABLES, Table

KEYS = "expect_compound_columns_to_be_unique"


def name_of(table: str, column: str | None, expectation: str) -> str:
    """The name of an expectation."""
    return f"{table}.{column} {expectation}" if column else f"{table} {expectation}"


def derived() -> dict[str, str]:
    """Expectations that follow from what the tables declare: keys, words, null, ranges, orders."""
    return {name: said for table in TABLES.values() for name, said in _of_table(table).items()}


def _of_table(table: Table) -> dict[str, str]:
    found = {name_of(table.name, None, KEYS): f"No two rows have the same {', '.join(table.key)}"}
    found |= {name_of(table.name, one.name, IN_SET): f"{one.name} is one of {', '.join(one.words)}" for one in table.enumerations}
    found |= {name_of(table.name, one.name, NOT_NULL): f"{one.name} is never null" for one in checked(table) if not one.nullable}
    return found | {name_of(table.name, one.column.name, one.expectation): f"{one.column.name} is not {one.fault}" for one in checks(table)}


def told() -> dict[str, str]:
    """Expectations that stand for a sentence of their own."""
    found = {name_of(one.table, None, one.name): one.statement for one in INVARIANTS}
    found |= {name_of(one.table, None, one.name): one.statement for one in BALANCES}
    found |= {name_of(one.table, one.column, one.expectation): f"Never: {one.column} is {one.fault}" for one in ROW_RULES}
    found |= {name_of(table, column, MASKED): "Secrets are masked" for table, column in COLUMNS.items()}
    found[name_of(*LENGTHS)] = "raw has length_octets bytes, and none where the row is a gap"
    for table in TABLES.values():
        if table.layer in ("bronze", "silver"):
            found[name_of(table.name, None, STAY)] = "No other program has removed rows"
    for table_name in ("ack_latency", "compliance_summary"):
        found[name_of(table_name, None, FIGURES)] = "Figures are those that the rows come to"
    found[name_of("batches", None, FINISHED)] = "A batch is in all tables or in none"
    found[name_of(WHOLE_FILES[0], WHOLE_FILES[1], WHOLE)] = f"{WHOLE_FILES[1]} is {WHOLE_FILES[2]}"
    found[name_of("captures", "source", ONE_POINT)] = "A source is one capture point"
    found[name_of("streams", None, GOES_ON)] = "Open connections go on in the next run"
    found[name_of("captures", "last_ns", RECENT)] = "The newest packet of each source is recent (a threshold)"
    found[name_of("streams", None, FEW)] = "Few bytes of STOMP streams are missing (a threshold)"
    return found


def page() -> str:
    """docs/quality.md."""
    rows = [f"| `{name}` | {said.replace('|', '/')} |" for name, said in sorted(told().items())]
    return HEAD.format(derived=len(derived()), told=len(rows), rows=DRIVER_ROWS) + "\n".join(rows)


HEAD = """# What a validation expects

`stompcap run` and `stompcap validate` hold the lake against these expectations; their results are in table `quality_results`. What is
told of a failure names the key of a row: of a check across tables the first row of the stream, capture or name that does not agree.

{derived} expectations follow from what [tables.md](tables.md) says of single columns: keys are unique, enumerations have their words only,
columns that are never null are not, numbers and times are in range and in order. {told} more stand for sentences of their own:

- *One row*: times, durations, counts and words agree with each other.
- *Across tables*: what the rows of several tables add up to agrees for each stream, capture, batch, subscription or transaction. Each data
  file is added up once, and the sums of all files are put together bucket by bucket of the keys' hashes.
- *Figures*: `ack_latency` and `compliance_summary` are made once more from the rows. `validate` makes all groups; a run, and
  `validate --new`, those of the hours and days that changed, and some 200 others, drawn anew each time.
- *Secrets*: headers with a secret name are masked. Of large tables some row groups are searched, drawn anew; whole lakes are by
  `stompcap doctor --secrets FILE`. Nothing is judged where a run was given `--keep-credentials` or names that are not secret.
- *Lengths*: in the same row groups `raw_frames.raw` is as long as it says.
- *Rows that are gone*: a commit of another program that left fewer rows than there were. To compact, optimise or vacuum is none.
- *Killed runs*: a batch that a run had begun to commit when it was killed is finished by the next run. Where its captures are gone it
  is not, and rows of connections that went on stand twice; besides the expectations that these rows break, one names the batch.

A table that another program has written since the last validation has another Delta version: then `run` and `validate --new` validate,
though no capture is new. So they do where a suite of your own has changed since.

## Switch off or weigh

In the settings file, by name; an unknown name is refused:

```toml
[quality.expectations."streams expect_rows_to_stay"]
severity = "warning"

[quality.expectations."captures.status expect_column_distinct_values_to_be_in_set"]
enabled = false
```

A warning is told and does not trip the gate `--fail-on quality`.

## Your own expectations

Suites of Great Expectations 1.x, JSON files as it writes them, are named in the settings, one for a table; their paths start at the folder
of the settings file. A run and `validate` judge them on all rows of their tables whenever they judge ours.

```toml
[quality.suites]
deliveries = "deliveries.json"
```

```json
{{
  "name": "house",
  "expectations": [
    {{
      "type": "expect_column_values_to_be_between",
      "kwargs": {{"column": "ack_latency_us", "max_value": 5000000}},
      "severity": "warning",
      "description": "An ACK takes five seconds at most"
    }}
  ],
  "meta": {{"great_expectations_version": "1.24.1"}}
}}
```

Their results are rows of `quality_results` whose `expectation` begins with the name of the suite, here `house: `; a second one of the same
type and column ends in ` 2`. Of the severities `critical`, the default, is `error`; `warning` and `info` are `warning`. A failure is told
with the number of rows and the keys of the first, without text from the wire. A table of up to {rows:,} rows is judged by pandas, and only
the columns are read that the suite names; a larger one is judged by Spark. `unexpected_rows_expectation` needs a database and is refused,
as is a suite that names a column that its table has not, before anything is read.

## What is not checked

Sentences of tables.md that the tables themselves cannot show to be false:

- What only packets tell: counters of retransmissions, strays, checksums and order, `history`, `encapsulation`, places in captures,
  `stalls`, differences of clocks. `stompcap run --reprocess` computes them again.
- What a grammar tells of bytes: command, headers and body of a frame against `raw_frames.raw`, `syntax`, `decode_errors`, versions that
  fit.
- Order across both directions: `wire_order`, and so the exact `max_in_flight`, of which the bounds are checked; that `settle_offset` is an
  ACK's or NACK's, and which one settled a delivery.
- Best guesses: products, `client_product`, `transport`, `protocol`.
- What a rule found: `evidence`, and whether each opportunity was judged rightly; `gaps`, `beats` and `cut_off_after_intervals` of
  heart-beats.
- What was given to a run, or measured by it: `path`, `options`, `runs`.

## Expectations with a sentence of their own

| expectation | what it says |
| --- | --- |
"""

if __name__ == "__main__":
    sys.stdout.write(page() + "\n")
