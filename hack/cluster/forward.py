"""Carries TCP connections from the machine's loopback into the cluster's network namespace.

A socket belongs to the namespace in which it was made. This program is handed a socket that listens outside
and is itself started inside, so it never switches namespaces. Standard library only: run by file name."""

import argparse
import asyncio
import contextlib
import socket

_CHUNK = 1 << 16


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Move bytes one way until the sender has no more, then pass the end on."""
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except (ConnectionError, OSError):
        writer.close()


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, host: str, port: int) -> None:
    """Serve one connection; one that cannot be made inside is closed, as a closed port would."""
    try:
        inner_reader, inner_writer = await asyncio.open_connection(host, port)
    except OSError:
        writer.close()
        return
    await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))
    for end in (writer, inner_writer):
        end.close()
        with contextlib.suppress(OSError):
            await end.wait_closed()


async def serve(listener: socket.socket, *, host: str, port: int) -> None:
    """Accept for ever."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await carry(reader, writer, host=host, port=port)

    server = await asyncio.start_server(accept, sock=listener)
    async with server:
        await server.serve_forever()


def listen(preferred: int) -> socket.socket:
    """Listen on the machine's loopback, at the preferred port where it is free."""
    for port in (preferred, 0):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            listener.close()
            continue
        listener.listen(128)
        return listener
    raise OSError("no free port on 127.0.0.1")


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True, help="a listening socket that was made outside")
    parser.add_argument("--to", required=True, help="HOST:PORT inside")
    arguments = parser.parse_args()
    host, _, port = arguments.to.rpartition(":")
    listener = socket.socket(fileno=arguments.fd)
    listener.setblocking(False)
    asyncio.run(serve(listener, host=host, port=int(port)))


if __name__ == "__main__":
    main()
