"""Reads what others send, up to a limit: nothing is unpacked, so a small answer stays small."""

from typing import Final

import aiohttp

PLAIN: Final = {"Accept-Encoding": "identity"}
"""Headers that ask for an answer that is not packed; sessions are made with auto_decompress=False besides."""


async def body_of(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body of an answer. Raises ValueError for another status than 200 and for more than `most` bytes."""
    if response.status != 200:
        raise ValueError(f"HTTP {response.status}")
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > most:
            raise ValueError(f"more than {most} bytes")
    return bytes(body)
