"""Object stores that hold a lake: one URI for deltalake, pyarrow and Spark, what deltalake does not find out by itself, errors in words.

Credentials, region and endpoint come from where deltalake and pyarrow search for them, first in the environment (`AWS_...`), on the driver
as in the tasks. Spark's own S3 client is not needed: tables are committed by deltalake, and their files are read and written by pyarrow.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import pyarrow as pa
from deltalake.exceptions import DeltaError

from stompcap.errors import EnvironmentProblem

ALIASES = {"s3a": "s3", "s3n": "s3"}
"""Schemes by which Hadoop names what deltalake and pyarrow call s3."""

ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
LONGEST = 200
"""Characters of an error that nobody foresaw."""

REMEDIES = (
    (r"NoSuchBucket|NO_SUCH_BUCKET", "no such bucket; make it first, or check the URI"),
    (
        r"AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|ExpiredToken|ACCESS_DENIED|INVALID_ACCESS_KEY|"
        r"SIGNATURE_DOES_NOT_MATCH|INVALID_CLIENT_TOKEN|40[13] (?:Forbidden|Unauthorized)|HTTP status 40[13]|"
        r"[Nn]ot (?:been )?(?:load|find|provid)\w* .*[Cc]redentials|CredentialsNotLoaded|[Cc]redentials? provider|security-credentials",
        "no permission; check the credentials in the environment (for S3 AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE)",
    ),
    (
        r"301 Moved|PermanentRedirect|AuthorizationHeaderMalformed|[Mm]issing region",
        "the bucket is in another region; set AWS_REGION to its own",
    ),
    (
        r"error sending request|[Cc]onnection refused|dns error|operation timed out|NETWORK_CONNECTION|curlCode",
        "the store cannot be reached; check the network, the region (for S3 AWS_REGION) and the endpoint (AWS_ENDPOINT_URL)",
    ),
)
FROM_A_STORE = re.compile(r"Generic (?:S3|GCS|MicrosoftAzure|HTTP)\w* error|AWS Error |object store")


def same_for_all(lake: str) -> str:
    """A lake's URI by the scheme that deltalake and pyarrow know; a path unchanged.

    Raises EnvironmentProblem for a URI with a password.
    """
    scheme, sign, rest = lake.partition("://")
    if not sign:
        return lake
    parts = urlsplit(lake, allow_fragments=False)
    if parts.password is not None:
        named = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        raise EnvironmentProblem(f"{named}: has a password in its URI, which tables and messages would show; set it in the environment")
    return f"{ALIASES.get(scheme.lower(), scheme)}://{rest}"


def settings(uri: str) -> dict[str, str] | None:
    """The storage options that deltalake needs for a table besides the environment: it takes no endpoint without TLS unasked."""
    endpoint = next((found for name in ENDPOINTS if (found := os.environ.get(name))), "")
    return {"AWS_ALLOW_HTTP": "true"} if uri.startswith("s3://") and endpoint.lower().startswith("http://") else None


def problem(error: Exception) -> str | None:
    """What is wrong with a store and the remedy, by an error of deltalake or pyarrow; None for an error that is no store's."""
    text = " ".join(re.sub(r"\x1b\[\d*m", "", str(error)).split())
    if not FROM_A_STORE.search(text):
        return None
    return next((remedy for sign, remedy in REMEDIES if re.search(sign, text)), f"the store answers: {text[-LONGEST:]}")


@contextmanager
def explained(lake: str) -> Iterator[None]:
    """Turns what a store says of a lake into EnvironmentProblem: one line, with the remedy."""
    try:
        yield
    except (OSError, DeltaError, pa.ArrowException) as error:
        if (why := problem(error)) is None:
            raise
        raise EnvironmentProblem(f"{lake}: {why}") from error
