"""A Git repository served over smart HTTP on loopback: git's own http-backend behind a small server."""

import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Final

_TIMEOUT: Final = 30
_ENVIRONMENT: Final = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "a user",
    "GIT_AUTHOR_EMAIL": "user@example.com",
    "GIT_COMMITTER_NAME": "a user",
    "GIT_COMMITTER_EMAIL": "user@example.com",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository with a work tree, and where it is served."""

    folder: pathlib.Path
    url: str

    def commit(self, files: Mapping[str, str]) -> str:
        """Make `files` the whole content of the branch; returns the commit's id."""
        for old in self._git("ls-files").split():
            (self.folder / old).unlink()
        for path, text in files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        self._git("add", "--all")
        self._git("commit", "--quiet", "--allow-empty", "--message", "a change")
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *words: str) -> str:
        return git(*words, folder=self.folder)


def git(*words: str, folder: pathlib.Path) -> str:
    """git's output. Raises RuntimeError if git is not installed, and CalledProcessError if it fails."""
    if shutil.which("git") is None:
        raise RuntimeError("no `git` on PATH: install it (Debian: apt-get install git)")
    environment = os.environ | _ENVIRONMENT
    return subprocess.run(
        ["git", *words], cwd=folder, env=environment, check=True, capture_output=True, text=True, timeout=_TIMEOUT
    ).stdout


@contextmanager
def served(folder: pathlib.Path) -> Iterator[Repository]:
    """A new repository below `folder`, served for the length of the block."""
    tree = folder / "fleet"
    tree.mkdir()
    git("init", "--quiet", "--initial-branch=main", folder=tree)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(folder))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield Repository(folder=tree, url=f"http://127.0.0.1:{server.server_port}/fleet/.git")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(root: pathlib.Path) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Hands each request to git http-backend."""

        def do_GET(self) -> None:
            _answer(self, root, b"")

        def do_POST(self) -> None:
            _answer(self, root, self.rfile.read(int(self.headers.get("Content-Length", 0))))

        def log_message(self, *_: Any) -> None:
            """Logs nothing."""

    return Handler


def _answer(request: BaseHTTPRequestHandler, root: pathlib.Path, body: bytes) -> None:
    """Answers with what git http-backend writes: like any CGI program, headers, an empty line and the content."""
    done = subprocess.run(
        ["git", "http-backend"],
        input=body,
        env=os.environ | _ENVIRONMENT | _variables(request, root, body),
        check=True,
        capture_output=True,
        timeout=_TIMEOUT,
    )
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
    request.send_response(int(headers.pop("Status", "200").split()[0]))
    for name, value in headers.items():
        request.send_header(name, value)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content)


def _variables(request: BaseHTTPRequestHandler, root: pathlib.Path, body: bytes) -> dict[str, str]:
    """The request as CGI passes it: in the environment."""
    path, _, query = request.path.partition("?")
    return {
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "REQUEST_METHOD": request.command,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
    }
