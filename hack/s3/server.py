"""A store that speaks S3: moto's server with a folder's files in one bucket, behind a check of keys and signatures.

python3 server.py FOLDER BUCKET PORT      the keys are S3_ACCESS_KEY and S3_SECRET_KEY

It serves only once everything is in place, and it prints a line for each request: who counts downloads counts those.
Everything is kept in memory, so a restart brings the folder's files back and forgets all else.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from moto import settings  # type: ignore[import-not-found]
from moto.core import DEFAULT_ACCOUNT_ID  # type: ignore[import-not-found]
from moto.iam.models import iam_backends  # type: ignore[import-not-found]
from moto.moto_server.werkzeug_app import (  # type: ignore[import-not-found]
    DomainDispatcherApplication,
    create_backend_app,
)
from moto.s3.models import s3_backends  # type: ignore[import-not-found]
from werkzeug.serving import run_simple  # type: ignore[import-not-found]

_REGION = "us-east-1"
_PARTITION = "aws"
_READER = "reader"
_LARGEST = 32 * 1024**2
"""Bytes. Larger files are left out: everything is in memory, and a test of memory widens a draft to hundreds of MiB."""
_ALLOWED = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}


def fill(backend: Any, folder: Path, bucket: str) -> int:
    """Put the files of the folder into a new bucket, under their paths; return how many there are."""
    backend.create_bucket(bucket, _REGION)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size <= _LARGEST)
    for path in files:
        backend.put_object(bucket, path.relative_to(folder).as_posix(), path.read_bytes())
    return len(files)


def let_in(backend: Any, access_key: str, secret_key: str) -> None:
    """Make one user with chosen keys who may do everything with S3; moto would throw dice for the keys."""
    backend.create_user(_REGION, _READER)
    backend.put_user_policy(_READER, "all-of-s3", json.dumps(_ALLOWED))
    key = backend.create_access_key(_READER)
    key.access_key_id, key.secret_access_key = access_key, secret_key


def main(folder: Path, bucket: str, port: int) -> None:
    """Fill the store, close its door, serve until stopped."""
    count = fill(s3_backends[DEFAULT_ACCOUNT_ID][_PARTITION], folder, bucket)
    users = iam_backends[DEFAULT_ACCOUNT_ID][_PARTITION]
    let_in(users, os.environ["S3_ACCESS_KEY"], os.environ["S3_SECRET_KEY"])
    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0.0
    print(f"bucket {bucket}: {count} files, port {port}", flush=True)
    run_simple("0.0.0.0", port, DomainDispatcherApplication(create_backend_app), threaded=True)  # noqa: S104 - a pod


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
