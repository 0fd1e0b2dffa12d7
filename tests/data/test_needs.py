"""What the recorder lacks is said in one line, with the remedy."""
from __future__ import annotations

import pytest

from data.recorder import needs


def test_missing_packages_without_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(needs.shutil, "which", lambda tool: None)
    monkeypatch.setattr(needs.os.path, "exists", lambda path: False)
    with pytest.raises(needs.MissingNeedError, match=r"apt-get install .*rabbitmq-server.*tcpdump") as caught:
        needs.ensure(["rabbitmq"])
    assert "\n" not in str(caught.value)


def test_loopback_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(needs.shutil, "which", lambda tool: "/usr/bin/" + tool)
    with pytest.raises(needs.MissingNeedError, match="sudo"):
        needs.ensure(["rabbitmq"])
