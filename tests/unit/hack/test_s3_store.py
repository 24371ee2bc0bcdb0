"""The tests' store: which requests count as downloads, and when the store starts again."""

from tests.node import s3

LOG = """\
bucket models: 18 files, port 9000
10.0.0.1 - - [21/Nov/2026 11:08:02] "HEAD /models HTTP/1.1" 200 -
10.0.0.1 - - [21/Nov/2026 11:08:02] "GET /models?prefix=target&encoding-type=url HTTP/1.1" 200 -
10.0.0.1 - - [21/Nov/2026 11:08:02] "HEAD /models/target/config.json HTTP/1.1" 200 -
10.0.0.1 - - [21/Nov/2026 11:08:02] "GET /models/target/config.json HTTP/1.1" 200 -
10.0.0.1 - - [21/Nov/2026 11:08:02] "GET /models/target/model.safetensors HTTP/1.1" 206 -
10.0.0.1 - - [21/Nov/2026 11:08:02] "GET /models/draft/config.json HTTP/1.1" 200 -
10.0.0.1 - - [21/Nov/2026 11:08:05] "\033[31mGET /models/target/config.json HTTP/1.1\033[0m" 403 -
"""


def test_a_download_is_an_object_that_was_given() -> None:
    """Not a look at its head, not a list of the bucket, not a refusal."""
    assert s3.count(LOG, "GET", "") == 3
    assert s3.count(LOG, "GET", "target/") == 2
    assert s3.count(LOG, "HEAD", "target/") == 1
    assert s3.count(LOG, "GET", "nothing/") == 0
