"""A local S3 server that remembers what it was asked for, in its own threads; for tests alone."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@dataclass
class Store:
    """One bucket, `bucket`; `asked` are (method, key, first and last octet of the range or None)."""

    client: Any
    environment: dict[str, str]
    asked: list[tuple[str, str, tuple[int, int] | None]] = field(default_factory=list)
    denied: set[str] = field(default_factory=set)
    refusal: str = ""  # the error code that every request is answered with, if any

    def put(self, key: str, octets: bytes) -> str:
        """Store an object; its URI."""
        self.client.put_object(Bucket="bucket", Key=key, Body=octets)
        self.asked.clear()
        return f"s3://bucket/{key}"

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The ranges that were read, sorted: begin and end."""
        return sorted((first, last + 1) for method, _, octets in self.asked if method == "GET" and octets for first, last in [octets])


@contextmanager
def store() -> Iterator[Store]:
    """The server, while it lasts; this process's environment names it meanwhile."""
    import boto3
    from moto.s3.models import s3_backends
    from moto.server import create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class KeepAlive(WSGIRequestHandler):
        """A connection and a thread for each request took longer than to answer it."""

        protocol_version = "HTTP/1.1"

    moto = create_backend_app("s3")  # a server of all services would look for the one that each request is for
    before = dict(os.environ)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)

    def listen(environ: dict[str, Any], start: Any) -> Any:
        key = environ["PATH_INFO"].removeprefix("/bucket/")
        octets = environ.get("HTTP_RANGE", "").removeprefix("bytes=").split("-")
        found.asked.append((environ["REQUEST_METHOD"], key, (int(octets[0]), int(octets[1])) if len(octets) == 2 else None))
        if key in found.denied:
            start("403 Forbidden", [("Content-Length", "0")])
            return [b""]
        if found.refusal:
            start("403 Forbidden", [("Content-Type", "application/xml")])
            return [f"<Error><Code>{found.refusal}</Code><Message>no</Message></Error>".encode()]
        return moto(environ, start)

    server = make_server("127.0.0.1", 0, listen, threaded=True, request_handler=KeepAlive)
    environment = {**ENVIRONMENT, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.port}"}
    found = Store(None, environment)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    os.environ.update(environment)
    try:
        found.client = boto3.client("s3", endpoint_url=environment["AWS_ENDPOINT_URL"], region_name="us-east-1")
        found.client.create_bucket(Bucket="bucket")
        yield found
    finally:
        server.shutdown()
        thread.join()
        s3_backends.reset()  # what a server had would else be in the next one of this process
        os.environ.clear()
        os.environ.update(before)
