"""A verdict as JUnit's XML, as Jenkins, GitLab and Surefire read it: a suite for each side, a case for each rule.

A finding that does not count, and a rule that is not judged, are skipped cases, so that neither looks passed. Inputs that could not be
read, or in which nothing was judged, are errors of a case of their own.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from xml.etree.ElementTree import Element, SubElement

from stompcap.checking import wording
from stompcap.checking.verdict import FAILED, NOT_JUDGED, RuleVerdict, Verdict
from stompcap.visible import visible


def written(verdict: Verdict) -> str:
    """The text; ends in a newline."""
    suites = Element("testsuites", name="stompcap check")
    _inputs(suites, verdict)
    for side in verdict.sides:
        suite = SubElement(suites, "testsuite", name=f"stompcap.{side}")
        for one in verdict.rules:
            if one.side == side:
                _case(suite, verdict, one)
        _count(suite)
    for name in ("tests", "failures", "errors"):
        suites.set(name, str(sum(int(suite.get(name, 0)) for suite in suites)))
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def _inputs(suites: Element, verdict: Verdict) -> None:
    """The suite of what the verdict rests on."""
    suite = SubElement(suites, "testsuite", name="stompcap.inputs")
    case = SubElement(suite, "testcase", name="something was judged", classname="stompcap.inputs", time="0")
    if not verdict.judged:
        SubElement(case, "skipped" if verdict.allow_empty else "error", message=verdict.conclusion)
    for line in verdict.refused:
        case = SubElement(suite, "testcase", name=visible(line), classname="stompcap.inputs", time="0")
        SubElement(case, "error", message="could not be read", type="refused")
    _count(suite)


def _case(suite: Element, verdict: Verdict, one: RuleVerdict) -> None:
    """One rule."""
    case = SubElement(suite, "testcase", name=f"{one.rule.id} {one.rule.title}", classname=f"stompcap.{one.side}", time="0")
    if one.status == NOT_JUDGED:
        SubElement(case, "skipped", message=f"not judged: {wording.needs(one)}")
    elif one.status == FAILED and wording.mark(verdict, one) == "FAIL":
        failure = SubElement(case, "failure", message=f"{one.level}: {wording.rates(one)}", type=one.level)
        failure.text = "\n".join(wording.failure_lines(verdict, one))
    elif one.status == FAILED:
        why = "in the baseline" if wording.mark(verdict, one) == "known" else f"milder than {verdict.level}"
        SubElement(case, "skipped", message=f"{one.level}, {why}: {wording.rates(one)}")


def _count(suite: Element) -> None:
    suite.set("tests", str(len(suite)))
    for name, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{element}"))))
    suite.set("time", "0")
