"""The formats: each is what its readers ask for, and nothing from the wire is more than text in any."""

from __future__ import annotations

import json
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import jsonschema
import pytest
from markdown_it import MarkdownIt

import stompcap
from stompcap.checking import Verdict, formats
from stompcap.checking.text import WIDTH
from tests.checking.made import capture, connected, hostile
from tests.e2e.truth import DATA

VIOLATIONS = str(DATA / "rabbitmq_violations.pcap")


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    folder = tmp_path_factory.mktemp("made")
    known = folder / "known.json"
    known.write_text(formats.written(stompcap.check(VIOLATIONS, side="client"), "json"))
    return {
        "violations": stompcap.check(VIOLATIONS),
        "known": stompcap.check(VIOLATIONS, known=str(known)),
        "hostile": stompcap.check(hostile(folder)),
        "kept": stompcap.check(capture(folder, connected().client(b"SEND\ndestination:/q\n\n\0"))),
        "nothing": stompcap.check([]),
        "refused": stompcap.check(str(folder / "gone\x1b[31m\n.pcap")),
    }


NAMES = ("violations", "known", "hostile", "kept", "nothing", "refused")
BOTH = pytest.mark.parametrize("name", NAMES)


@BOTH
@pytest.mark.parametrize("form", formats.FORMATS)
def test_all_that_is_written_prints_as_itself(verdicts: dict[str, Verdict], name: str, form: str) -> None:
    text = formats.written(verdicts[name], form)
    assert text.endswith("\n")
    odd = {one for one in text if one != "\n" and unicodedata.category(one) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")}
    assert not odd


@BOTH
def test_text_has_eighty_columns_but_for_addresses(verdicts: dict[str, Verdict], name: str) -> None:
    lines = formats.written(verdicts[name], "text").splitlines()
    assert [line for line in lines if len(line) > WIDTH and "https://" not in line] == []
    assert lines[-1].startswith("check ")
    assert "\x1b" in formats.written(verdicts[name], "text", colours=True)


SUITES = {"name", "tests", "failures", "errors"}
ATTRIBUTES = {
    "testsuites": (SUITES, SUITES | {"time"}),
    "testsuite": (SUITES, SUITES | {"time", "skipped"}),
    "testcase": ({"name", "classname", "time"}, {"name", "classname", "time"}),
    "failure": (set[str](), {"type", "message"}),
    "error": (set[str](), {"type", "message"}),
    "skipped": (set[str](), {"type", "message"}),
}
"""By element, what it must have and may have: the part that is used of junit-10.xsd of Jenkins' xunit plugin."""

CHILDREN = {"testsuites": {"testsuite"}, "testsuite": {"testcase"}, "testcase": {"failure", "error", "skipped"}}


@BOTH
def test_junit_is_as_its_schema_says(verdicts: dict[str, Verdict], name: str) -> None:
    root = ElementTree.fromstring(formats.written(verdicts[name], "junit"))
    assert root.tag == "testsuites"
    for element in root.iter():
        must, may = ATTRIBUTES[element.tag]
        assert must <= element.attrib.keys() <= may, element.tag
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
    for suite in root:
        assert int(suite.attrib["tests"]) == len(suite)
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
    names = [(case.attrib["classname"], case.attrib["name"]) for case in root.iter("testcase")]
    assert len(names) == len(set(names))


@BOTH
def test_junit_is_red_where_the_verdict_is(verdicts: dict[str, Verdict], name: str) -> None:
    root = ElementTree.fromstring(formats.written(verdicts[name], "junit"))
    bad = sum(int(suite.attrib[kind]) for suite in root for kind in ("failures", "errors"))
    assert (bad == 0) == verdicts[name].ok
    cases = [case for suite in root if suite.attrib["name"] != "stompcap.inputs" for case in suite]
    passed = {case.attrib["name"].split()[0] for case in cases if not len(case)}
    assert passed <= {one.rule.id for one in verdicts[name].of("passed")}


TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": False}
ARTIFACT = {"type": "object", "properties": {"uri": {"type": "string", "format": "uri-reference"}}, "additionalProperties": False}
LOCATION = {
    "type": "object", "additionalProperties": False,
    "properties": {
        "message": TEXT,
        "physicalLocation": {"type": "object", "additionalProperties": False, "properties": {
            "artifactLocation": ARTIFACT, "region": {"type": "object", "properties": {"startLine": {"type": "integer", "minimum": 1}}}}},
        "logicalLocations": {"type": "array", "items": {"type": "object", "additionalProperties": False, "properties": {
            "fullyQualifiedName": {"type": "string"}, "kind": {"type": "string"}}}},
    },
}  # fmt: skip
LEVEL = {"enum": ["none", "note", "warning", "error"]}
SARIF = {
    "type": "object", "required": ["version", "runs"], "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"}, "version": {"enum": ["2.1.0"]},
        "runs": {"type": "array", "items": {
            "type": "object", "required": ["tool"], "additionalProperties": False,
            "properties": {
                "tool": {"type": "object", "required": ["driver"], "properties": {"driver": {
                    "type": "object", "required": ["name"], "properties": {"rules": {"type": "array", "uniqueItems": True, "items": {
                        "type": "object", "required": ["id"], "additionalProperties": False, "properties": {
                            "id": {"type": "string"}, "shortDescription": TEXT, "fullDescription": TEXT, "help": TEXT,
                            "helpUri": {"type": "string", "format": "uri"}, "properties": {"type": "object"},
                            "defaultConfiguration": {"type": "object", "properties": {"level": LEVEL}}}}}}}}},
                "invocations": {"type": "array", "items": {
                    "type": "object", "required": ["executionSuccessful"], "properties": {
                        "executionSuccessful": {"type": "boolean"},
                        "toolExecutionNotifications": {"type": "array", "items": {
                            "type": "object", "required": ["message"], "properties": {"level": LEVEL, "message": TEXT}}}}}},
                "artifacts": {"type": "array", "items": {"type": "object", "properties": {"location": ARTIFACT}}},
                "results": {"type": "array", "items": {
                    "type": "object", "required": ["message"], "additionalProperties": False,
                    "properties": {
                        "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": 0}, "level": LEVEL, "message": TEXT,
                        "locations": {"type": "array", "items": LOCATION}, "relatedLocations": {"type": "array", "items": LOCATION},
                        "occurrenceCount": {"type": "integer", "minimum": 1},
                        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
                        "baselineState": {"enum": ["new", "unchanged", "updated", "absent"]}, "properties": {"type": "object"}}}},
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]}, "properties": {"type": "object"},
            }}},
    },
}  # fmt: skip
"""The part that is used of sarif-schema-2.1.0.json (OASIS), which allows no other properties either."""


@BOTH
def test_sarif_is_as_its_schema_says(verdicts: dict[str, Verdict], name: str) -> None:
    found = json.loads(formats.written(verdicts[name], "sarif"))
    jsonschema.Draft7Validator(SARIF, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER).validate(found)
    (run,) = found["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        for location in (*result["locations"], *result["relatedLocations"]):
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"[\w/:@!$&'()*+,;=.~%-]*", uri, re.ASCII)
            assert unquote(uri) in verdicts[name].captures
    assert run["invocations"][0]["executionSuccessful"] == (name not in ("nothing", "refused"))
    assert sum(result["properties"]["counts"] for result in run["results"]) == len(verdicts[name].new)


@BOTH
def test_each_line_for_github_is_one_annotation(verdicts: dict[str, Verdict], name: str) -> None:
    lines = formats.written(verdicts[name], "github").splitlines()
    for line in lines:
        found = re.fullmatch(r"::(error|warning|notice) (?:file=([^,:\r\n]*),)?title=([^,:\r\n]*)::([^\r\n]*)", line)
        assert found, line
        assert all(re.fullmatch(r"(?:[^%]|%25|%0A|%0D|%3A|%2C)*", part or "") for part in found.groups()), line
    assert sum(line.startswith("::error ") for line in lines) == (0 if verdicts[name].ok else len(
        [one for one in verdicts[name].new if one.level == "MUST"]) + len(verdicts[name].refused) + 1)


@BOTH
def test_markdown_holds_no_markup_from_the_wire(verdicts: dict[str, Verdict], name: str) -> None:
    text = formats.written(verdicts[name], "md")
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    inline = [child for token in tokens for child in token.children or ()]
    assert {token.content.strip() for token in tokens if token.type == "html_block"} <= {
        "</details>", f"<details><summary>{len(verdicts[name].of('not judged'))} not judged</summary>"}
    assert not [child for child in inline if child.type in ("html_inline", "image")]
    assert all(str(child.attrs["href"]).startswith("https://") for child in inline if child.type == "link_open")
    hosts = {str(child.attrs["href"]).split("/")[2] for child in inline if child.type == "link_open"}
    assert hosts <= {"stomp.github.io", "www.rfc-editor.org", "www.haproxy.org", "www.iana.org"}
    if verdicts[name].of("failed"):
        rows = [line for line in text.splitlines() if line.startswith(("| **FAIL**", "| milder", "| known"))]
        assert len(rows) == len(verdicts[name].of("failed"))
        cells = sum(token.type == "td_open" for token in tokens)
        assert cells == 5 * len(verdicts[name].sides) + 7 * len(rows)


def test_text_tells_the_clause_the_address_the_packet_and_the_frame(verdicts: dict[str, Verdict]) -> None:
    text = formats.written(verdicts["violations"], "text")
    assert "FAIL SN-01 MUST client: SEND has destination" in text
    assert "https://stomp.github.io/stomp-specification-1.2.html#SEND" in text
    assert re.search(r"- SEND without destination\n +packet \d+ of \S+rabbitmq_violations.pcap", text)


def test_no_format_has_a_secret() -> None:
    dialogue = connected().client(b"SEND\npasscode:hunter2hunter2\n\nx\0").client(b"CONNECT\nlogin:a\npasscode:hunter3hunter3\n\n\0")
    verdict = dialogue.verdict()
    assert verdict.new
    assert not [form for form in formats.FORMATS if "hunter" in formats.written(verdict, form)]
