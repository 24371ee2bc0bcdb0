"""The stand-in of what web metrics ask: one real HTTP server with a page of JSON for each run, all of them good.

`GET /stand` returns how often they were asked, and how many of them ever were.
"""

import argparse
from collections import Counter

from aiohttp import web

ACCEPTANCE = 0.8


class StandInPages:
    """All pages, and how often each was asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    async def run(self, request: web.Request) -> web.Response:
        """The page of one run."""
        self.asked[request.match_info["name"]] += 1
        return web.json_response({"acceptance": ACCEPTANCE, "name": request.match_info["name"]})

    async def stand(self, _: web.Request) -> web.Response:
        """What was asked so far."""
        return web.json_response({"asked": self.asked.total(), "runs": len(self.asked)})

    def app(self) -> web.Application:
        """The server's routes."""
        app = web.Application()
        app.router.add_get("/runs/{name}", self.run)
        app.router.add_get("/stand", self.stand)
        return app


def main() -> None:
    """Serves until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    web.run_app(StandInPages().app(), host="127.0.0.1", port=port, access_log=None, print=None, backlog=1024)


if __name__ == "__main__":
    main()
