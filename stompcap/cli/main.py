"""The command `stompcap`: its commands and options. How the process begins and ends is in `entry`."""

from __future__ import annotations

from stompcap.cli.application import CODES, NAME, new
from stompcap.cli.commands import (
    active_commands,
    check_command,
    completion_command,
    dissector_command,
    export_command,
    forget_command,
    generate_command,
    lake_commands,
    peek_command,
    prepare_command,
    proxy_command,
    register_command,
    repair_command,
    rule_commands,
    run_commands,
    show_command,
    sql_command,
    watch_command,
)
from stompcap.cli.panels import arrange

__all__ = ["CODES", "NAME", "app"]

app = new()
run_commands.register(app)
watch_command.register(app)
peek_command.register(app)
check_command.register(app)
show_command.register(app)
sql_command.register(app)
register_command.register(app)
lake_commands.register(app)
forget_command.register(app)
repair_command.register(app)
export_command.register(app)
generate_command.register(app)
proxy_command.register(app)
active_commands.register(app)
dissector_command.register(app)
rule_commands.register(app)
prepare_command.register(app)
completion_command.register(app)
arrange(app)
