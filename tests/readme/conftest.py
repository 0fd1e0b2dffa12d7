"""A folder as README's user has it, and what following a section left there; a cluster to follow the others on."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.truth import captures
from tests.readme.cluster import Cluster, standalone
from tests.readme.printed import DOCS, follow, section

SAID = "said.txt"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the captures that README speaks of: the bundled ones in `captures/`, and one that a trace is named after."""
    made = tmp_path_factory.mktemp("readme")
    (made / "captures").mkdir()
    for path in captures():
        shutil.copy(path, made / "captures")
    shutil.copy(made / "captures" / "artemis_dialogue.pcapng", made / "trace.pcapng")
    return made


@pytest.fixture(scope="session")
def used(folder: Path) -> Path:
    """That folder after the commands of `Use it` and of `Settings`, and what they printed in SAID."""
    use, settings = section("Use it"), section("Settings", DOCS / "running.md")
    for block in settings.blocks("toml"):
        name = re.match(r"# (\S+)\n", block)
        assert name is not None, "the block does not say which file it is"
        (folder / name[1]).write_text(block, encoding="utf-8")
    (folder / SAID).write_text(follow([*use.commands(), *settings.commands()], folder, {}, 600), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers."""
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running
