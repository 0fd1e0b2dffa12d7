"""How packets are read: the options of the commands that read captures without a lake."""

from __future__ import annotations

from dataclasses import dataclass

from stompcap.cli import common


@dataclass(frozen=True)
class Packets:
    """How packets are read."""

    ports: common.Ports = ""
    all_ports: common.AllPorts = False
    vlan: common.Vlan = False
    tunnels: common.Tunnels = True
    keylog: common.KeyLogs = None


PACKETS = Packets()
