"""What looks like a breach: cases of the rules' pitfalls, by chapter.

A case is (rule, what it is, verdict, transcript). Verdicts: `kept` (judged, nothing found), `none` (does not apply), `unsure` (not
evaluable), or the levels of what is found, such as `I` where a pitfall softens the rule and `M` where it only says who is known for it.
"""

from tests.rules.pitfalls import answers, connecting, frames, layers, messages

CASES: tuple[tuple[str, str, str, str], ...] = (*frames.CASES, *connecting.CASES, *messages.CASES, *answers.CASES, *layers.CASES)
