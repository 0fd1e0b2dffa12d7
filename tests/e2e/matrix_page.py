"""docs/matrix.md, of the bundled recordings: `python -m tests.e2e.matrix_page > docs/matrix.md`."""

from __future__ import annotations

import sys

from stompcap.assembly import captures
from stompcap.checking.judging import tables_of
from stompcap.errors import CaptureError
from stompcap.matrix import matrix, subjects_of
from stompcap.matrix.counts import Key
from stompcap.matrix.from_tables import counted
from stompcap.matrix.markdown import written
from stompcap.options import Options
from tests.e2e.known import PRODUCTS, Recorded
from tests.e2e.truth import captures as recordings

HEAD = """# Brokers and clients, rule by rule

What RabbitMQ, ActiveMQ, Artemis and five client libraries did with each rule in the bundled recordings (`data/`). A cell is *not judged*
where their sessions never tried the rule, which says nothing for or against them; *kept*, with the number of occasions; or **broken**, with
how often. INFO is worth knowing and no violation. [Proofs](#proofs-of-brokers) have the first finding of each cell that is broken: where it
is, what was seen, the bytes. The rules are explained in [rules.md](rules.md), the commonest MUSTs in [broken-rules.md](broken-rules.md).

The brokers were provoked by a scripted client, too; what it broke on purpose is left out. The libraries did what their documentation shows.
[conformance.md](conformance.md) has what they answered to traffic that tries them on purpose, case by case.

The same of your own captures, or of a lake:

```console
$ stompcap rules compare 'data/*_stompjs.pcap*' --by client_product,version
$ stompcap rules compare 'data/*.pcap*' --by server_product,server_version --format html -o brokers.html
$ stompcap rules compare 'data/*_library.pcap*' --by client_product --product stomp.py --stomp 1.2 --badge stomp.py.svg
$ stompcap rules compare --lake lake --by server_product
```

`--by` names columns of table `sessions`: `client_product` with `client_version` (from a user-agent header, the only one that tells it), or
`server_product` with `server_version`; and `version`, the protocol's. Formats are text, for a terminal of 80 columns or more, `html`, a
page without scripts whose broken cells unfold to the bytes, `md` and `json`. No Spark is needed. Where a rule is about both sides, a lake
counts the occasions of both together (≤); captures count each side apart, and leave out what tried nothing, as [`check`](check.md) does.

`--badge` writes `STOMP 1.2 MUST 42/45` of one product: of the 45 MUST rules that its sessions tried it kept 42. What they did not try
counts neither way. It is made of captures, which tell who tried what. A file that ends in `.json` is for the endpoint badge of shields.io.
The third command above drew that of stomp.py:

![stomp.py: the MUST rules of STOMP 1.2 that it kept, of those its sessions tried](stomp.py.svg)
"""


def page() -> str:
    """The page, in Markdown."""
    packets, options = captures.Packets(), Options()
    captures.read(packets, recordings(), options, _refuse)
    tables = tables_of(packets, options)
    recorded = Recorded(tables)
    brokers, clients = dict[str, Key](), dict[str, Key]()
    for row in tables["sessions"].select(["stream_id", "server_version"]).to_pylist():
        summary = recorded.sessions[row["stream_id"]][1].summary
        brokers[row["stream_id"]] = (PRODUCTS[summary["broker"]],)
        if summary["client"] != "scripted":
            name, _, version = str(summary["client"]).partition("/")
            clients[row["stream_id"]] = name, version.replace("...", ".")
    parts = [HEAD]
    for by, keys, title in (("server_product", brokers, "Brokers"), ("client_product,client_version", clients, "Clients")):
        subjects = subjects_of(by)
        counts = counted(tables, packets.paths, subjects.side, keys)
        counts.unnamed = 0  # the scripted client
        parts.append(written(matrix(counts, subjects), title, 2).replace("### Proofs", f"### Proofs of {title.lower()}"))
    return "\n".join(parts)


def _refuse(error: CaptureError) -> None:
    raise error


if __name__ == "__main__":
    sys.stdout.write(page())
