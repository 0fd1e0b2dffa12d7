"""`stompcap rules compare --by`: what products did with rules, from captures and from a lake."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from stompcap.cli.main import app
from stompcap.lake import tables as lakes
from stompcap.rules.catalogue import BY_ID, RULES
from stompcap.tables.levels import SPELLED
from tests.cli.exported import Lake
from tests.e2e.truth import DATA
from tests.examples import slow_behind

RECORDED = ("rabbitmq_stompjs.pcap", "activemq_stompest.pcap", "rabbitmq_aftermath.pcap", "artemis_library.pcapng")
CAPTURES = [str(DATA / name) for name in RECORDED]
READ = ("raw_frames", "frames", "sessions", "compliance", "compliance_findings")


def compare(*words: str) -> Result:
    return CliRunner().invoke(app, ["rules", "compare", *words], catch_exceptions=False)


def as_object(*words: str) -> dict[str, Any]:
    return json.loads(compare(*words, "--format", "json").stdout)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = Lake(tmp_path_factory.mktemp("lake"), CAPTURES)
    for table in READ:
        lakes.append(made.where, table, made.tables[table], ["batch"], "r")
    return made


def columns(found: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Cells by the product's name and rule."""
    return {
        product["name"]: {row["rule"]: row["cells"][at] for row in found["rules"]} for at, product in enumerate(found["products"])
    }


def test_products_are_the_columns_and_rules_of_their_side_the_rows():
    found = as_object(*CAPTURES, "--by", "server_product")
    assert [one["name"] for one in found["products"]] == ["ActiveMQ", "Artemis", "RabbitMQ"]
    assert [one["rule"] for one in found["rules"]] == [rule.id for rule in RULES if rule.side != "client"]
    found = as_object(*CAPTURES, "--by", "client_product,client_version")
    assert {"stompjs", "stompest", "stomp.py"} <= {one["client_product"] for one in found["products"]}
    assert [one["rule"] for one in found["rules"]] == [rule.id for rule in RULES if rule.side != "server"]


@pytest.mark.parametrize("by", slow_behind(1, ["client_product,version", "server_product,server_version", "client_product"]))
def test_findings_of_cells_are_those_of_the_table_and_no_more_than_occasions(by, lake):
    side = by[:6]
    sessions = {row["stream_id"]: row for row in lake.tables["sessions"].to_pylist()}
    wanted: dict[tuple[str, str, str], int] = {}
    for row in lake.tables["compliance_findings"].to_pylist():
        values = [sessions[row["stream_id"]][name] for name in by.split(",")]
        if row["side"] == side and values[0] is not None:
            key = " ".join(value for value in values if value is not None), row["rule_id"], SPELLED[row["level"]]
            wanted[key] = wanted.get(key, 0) + 1
    for found in (as_object(*CAPTURES, "--by", by), as_object("--lake", lake.where, "--by", by)):
        counted = {
            (name, rule, one["level"]): one["findings"]
            for name, cells in columns(found).items() for rule, cell in cells.items() for one in cell.get("broken", ())
        }  # fmt: skip
        assert counted == wanted
        for cells in columns(found).values():
            for cell in cells.values():
                assert sum(one["findings"] for one in cell.get("broken", ())) <= cell["occasions"]
                assert (cell["status"] == "not_judged") == (cell["occasions"] == 0)


def test_a_lake_says_what_captures_say_where_a_rule_is_about_one_side(lake):
    theirs, ours = (columns(as_object(*words, "--by", "server_product")) for words in (("--lake", lake.where), CAPTURES))
    tried = 0
    for name, cells in ours.items():
        for rule, cell in cells.items():
            other = theirs[name][rule]
            if BY_ID[rule].side == "both":
                assert other["occasions"] >= cell["occasions"]
                assert other.get("shared", False) == bool(other["occasions"])
                continue
            assert other.get("broken") == cell.get("broken")
            assert other["occasions"] >= cell["occasions"], "captures leave out occasions that tried nothing"
            proof, same = cell.get("proof"), other.get("proof")
            assert (proof is None) == (same is None)
            if proof:
                tried += 1
                assert {**proof, "capture": Path(proof["capture"] or "").name} == {**same, "capture": Path(same["capture"] or "").name}
    assert tried


def test_a_proof_is_the_frame_of_a_finding():
    cells = columns(as_object(CAPTURES[0], "--by", "client_product"))["stompjs"]
    proof = cells["CN-02"]["proof"]
    assert cells["CN-02"]["status"] == "broken"
    assert proof["capture"] == CAPTURES[0]
    assert proof["packet"]
    assert b"CONNECT\n" in b64decode(proof["octets"])


def test_only_sessions_of_a_version_and_only_a_product():
    found = as_object(*CAPTURES, "--by", "server_product", "--stomp", "1.2", "--product", "rabbitmq")
    assert [(one["name"], [*one["versions"]]) for one in found["products"]] == [("RabbitMQ", ["1.2"])]


def test_a_badge_is_of_one_product(tmp_path):
    words = [*CAPTURES, "--by", "client_product", "--stomp", "1.2"]
    told = as_object(*words, "--product", "stompest")["products"][0]
    for name in ("badge.json", "badge.svg"):
        done = compare(*words, "--product", "stompest", "--badge", str(tmp_path / name))
        assert done.exit_code == 0
        assert done.stdout.endswith(f"kept {told['must_kept']}/{told['must_judged']}\n")
    badge = json.loads((tmp_path / "badge.json").read_text())
    message = f"{told['must_kept']}/{told['must_judged']}"
    assert badge == {"schemaVersion": 1, "label": "STOMP 1.2 MUST", "message": message, "color": "brightgreen"}
    assert f">{message}</text>" in (tmp_path / "badge.svg").read_text()
    several = CliRunner().invoke(app, ["rules", "compare", *words, "--badge", str(tmp_path / "x.svg")])
    assert "--badge is of one product" in str(several.exception)


@pytest.mark.parametrize(("words", "says"), [
    (["x.pcap"], "say what to compare"),
    (["x.pcap", "--by", "colour"], "--by colour: must be"),
    (["x.pcap", "--by", "client_product,server_product"], "compare clients or brokers"),
    (["x.pcap", "--by", "version"], "compare clients or brokers"),
    (["x.pcap", "--by", "client_product,client_product"], "names a column twice"),
    (["x.pcap", "--by", "client_product", "--format", "pdf"], "--format pdf: must be"),
    (["x.pcap", "--by", "client_product", "--stomp", "2.0"], "--stomp 2.0: must be"),
    (["x.pcap", "--by", "client_product", "--badge", "b.png"], "must end in .svg or .json"),
    (["--by", "client_product"], "nothing to compare"),
    ([CAPTURES[0], "--by", "client_product", "--product", "nobody"], "no session with nobody"),
])  # fmt: skip
def test_what_makes_no_sense_is_told(words, says):
    done = CliRunner().invoke(app, ["rules", "compare", *words])
    assert says in str(done.exception)


def test_captures_without_sessions_end_with_4(tmp_path):
    done = compare(str(tmp_path / "none.pcap"), "--by", "client_product")
    assert done.exit_code == 4


def test_a_lake_without_a_product_is_told(lake):
    done = CliRunner().invoke(app, ["rules", "compare", "Nobody", "--lake", lake.where, "--by", "server_product"])
    assert "no session with Nobody" in str(done.exception)


def test_the_version_of_a_client_is_that_of_its_user_agent(tmp_path):
    made = Lake(tmp_path, CAPTURES[:1])
    frames = made.tables["frames"].to_pylist()
    for row in frames:
        if row["command"] == "CONNECT":
            row["headers"] = [*row["headers"], {"name": "User-Agent", "value": "stompjs/7.1.2 (linux)"}]
    made.tables["frames"] = pa.Table.from_pylist(frames, made.tables["frames"].schema)
    for table in READ:
        lakes.append(made.where, table, made.tables[table], ["batch"], "r")
    found = as_object("--lake", made.where, "--by", "client_product,client_version")
    assert ("stompjs", "7.1.2") in {(one["client_product"], one["client_version"]) for one in found["products"]}
