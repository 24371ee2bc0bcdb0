"""The stand-in of many engines (lab/scale) whose drafts go bad and good again while it runs.

`POST /acceptance?number=N&value=V`: from now on this share of the drafted tokens of pod N is accepted.
"""

import argparse
import asyncio

from aiohttp import web

from lab.scale.engines_standin import PORT, StandInEngines, address_of


class ChangingEngines(StandInEngines):
    """All pods; requests from outside set how good their drafts are."""

    async def accept(self, request: web.Request) -> web.Response:
        """Sets the acceptance of one pod."""
        number = int(request.query["number"])
        self.page(number)
        self.engines[number].acceptance = float(request.query["value"])
        return web.json_response({"number": number})


async def serve(services: int) -> None:
    """Serves at the addresses of so many pods, and at no other: tests beside this one have pods of their own."""
    engines = ChangingEngines()
    app = web.Application()
    app.router.add_get("/metrics", engines.metrics)
    app.router.add_post("/acceptance", engines.accept)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    for number in range(services):
        await web.TCPSite(runner, address_of(number), PORT).start()
    await asyncio.Event().wait()


def main() -> None:
    """Serves until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--services", type=int, required=True)
    asyncio.run(serve(parser.parse_args().services))


if __name__ == "__main__":
    main()
