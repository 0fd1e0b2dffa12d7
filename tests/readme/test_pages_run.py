"""The commands of docs/ as printed, on a bundled capture; those that cannot run here say why."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.readme.printed import ROOT, Section, follow
from tests.readme.test_pages import PAGES
from tests.warm import warm

CANNOT = {
    "kubectl ": "a Kubernetes cluster", "docker ": "a daemon", "sudo ": "a password", "tcpdump ": "root", "wireshark ": "a display",
    "spark-submit ": "a cluster", "export PYSPARK": "a cluster", "stompcap watch": "ends with a signal; tests/spark/test_watch_command.py",
    "stompcap proxy": "a broker; tests/active", "stompcap serve": "a client; tests/active", "stompcap drive": "a broker; tests/active",
    "suite.pcap": "what was recorded", "-r stream.pcapng": "what is exported by an id made up",
    "stompcap register": "a metastore", "stompcap sql --lake lake  ": "a terminal", "0123456789abcdef0123": "an id made up",
    "make ": "a part of CI", "broker-0.pcap": "what kubectl captured", "--source tap": "a source of its own",
    "airflow": "an environment of its own; tests/airflow", "$SHARED": "a folder of a cluster", "export STOMPCAP_CAPTURES": "Airflow's",
    "--settings settings.toml": "a file of the user's", "--reprocess": "all captures again; tests/spark/test_reprocess.py",
}  # fmt: skip


def runnable(page: Path) -> list[str]:
    """The commands of a page that need nothing but captures and a lake; of `forget`, which asks a person, those that say yes."""
    commands = Section(page.name, page.read_text("utf-8")).commands()
    able = [line for line in commands if not any(word in f"{line} " for word in CANNOT)]
    return [line for line in able if not line.startswith("stompcap forget") or "--yes" in line]


@pytest.mark.slow
@pytest.mark.spark
def test_what_the_pages_print_can_be_typed(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    lines = [line for page in PAGES if page.parent.name == "docs" for line in runnable(page)]
    assert len(lines) > 10
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "trace.pcapng").symlink_to(ROOT / "data" / "artemis_habits.pcapng")
    (tmp_path / "secrets.txt").write_text("a secret of nobody\nand another\n")
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "keys.txt").write_text(f"CLIENT_RANDOM {'0' * 64} {'1' * 96}\n")
    (tmp_path / "teams.csv").write_text("login,team\nsomeone,orders\n")
    (tmp_path / "lake-of-may").symlink_to(tmp_path / "lake")
    (tmp_path / "questions.sql").write_text("SELECT count(*) FROM sessions; SELECT 1;")
    for place in ("broker", "gateway"):
        (tmp_path / "captures" / place).mkdir(parents=True)
        shutil.copy(ROOT / "data" / "activemq_bodies.pcap", tmp_path / "captures" / place)
    with warm(tmp_path, tmp_path_factory.mktemp("warm")) as before:  # in processes of their own those of README are tried
        follow(["stompcap run captures/ --lake lake --quiet", *lines], tmp_path, {}, 400, before)
