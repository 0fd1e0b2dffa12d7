"""The Spark source `pcap` and the column function `decode`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stompcap import spark as stompcap_spark
from tests.e2e.truth import DATA

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_packets_of_a_capture(spark: SparkSession) -> None:
    stompcap_spark.register(spark)
    packets = spark.read.format("pcap").load(str(DATA / "rabbitmq_midstream.pcap"))
    first = packets.orderBy("packet").first()
    assert first is not None
    assert first["path"].endswith("rabbitmq_midstream.pcap")
    assert {first["src_ip"], first["dst_ip"]} == {"127.0.0.1", "127.0.0.11"}
    assert packets.where("payload_octets <> length(payload)").count() == 0
    assert packets.where("src_port = 61613 AND payload_octets > 0").count() > 10


def test_folders_and_lists(spark: SparkSession) -> None:
    stompcap_spark.register(spark)
    everything = spark.read.format("pcap").load(str(DATA)).select("path").distinct().count()
    some = spark.read.format("pcap").load([str(DATA / "rabbitmq_midstream.pcap"), str(DATA / "artemis_midstream.pcapng")])
    assert everything == len([path for path in DATA.rglob("*.pcap*") if path.suffix in (".pcap", ".pcapng")])
    assert some.select("path").distinct().count() == 2


def test_decode_any_binary_column(spark: SparkSession) -> None:
    rows = [
        (bytearray(b"SEND\ndestination:/q\\ca\ncontent-length:2\n\nhi\0"), "1.2"),
        (bytearray(b"SEND\ndestination:/q\\ca\n\nhi\0"), "1.0"),
        (bytearray(b"no frame"), "1.2"),
        (None, "1.2"),
    ]
    table = spark.createDataFrame(rows, "raw BINARY, version STRING")
    decoded = table.select(stompcap_spark.decode("raw", "version").alias("f")).collect()
    assert [row["f"] and (row["f"]["command"], row["f"]["destination"], row["f"]["body_preview"]) for row in decoded] == [
        ("SEND", "/q:a", "hi"),
        ("SEND", "/q\\ca", "hi"),
        None,
        None,
    ]


def test_decode_agrees_with_the_table(spark: SparkSession, lake: object) -> None:
    from pyspark.sql import functions as f

    raw = stompcap_spark.read(spark, str(lake), "raw_frames").where("kind = 'frame'")
    frames = stompcap_spark.read(spark, str(lake), "frames")
    both = raw.join(frames.select("stream_id", "direction", "stream_offset", "command", "headers", "version"),
                    ["stream_id", "direction", "stream_offset"])  # fmt: skip
    decoded = both.withColumn("d", stompcap_spark.decode("raw", f.col("version")))
    assert decoded.where("d.command <> command OR d.headers <> headers OR d IS NULL").count() == 0


def test_tunnels_may_be_left_closed(spark: SparkSession, tmp_path: Path) -> None:
    from scapy.layers.inet import GRE, IP, TCP
    from scapy.layers.l2 import Ether

    from tests.capture.packaging import frames, pcap

    inner = IP(src="10.0.0.2", dst="10.0.0.1") / TCP(sport=40000, dport=61613)
    path = str(pcap(tmp_path / "a.pcap", frames([Ether() / inner, Ether() / IP(src="1.1.1.1", dst="2.2.2.2") / GRE() / inner])))
    stompcap_spark.register(spark)
    assert spark.read.format("pcap").load(path).count() == 2
    assert spark.read.format("pcap").option("tunnels", "false").load(path).count() == 1
