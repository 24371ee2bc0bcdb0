"""Starts the operator: settings, logging, the shared objects, kopf. Nothing else."""

import asyncio
import logging
import time

import kopf

from specdec_operator import metrics
from specdec_operator.cluster import ApiServer
from specdec_operator.control.handlers import REGISTRY, App
from specdec_operator.control.loop import Loop
from specdec_operator.control.readers import Readers
from specdec_operator.control.stores import Stores
from specdec_operator.control.surroundings import Surroundings
from specdec_operator.control.wakeups import Wakeups
from specdec_operator.prometheus import PrometheusReader
from specdec_operator.scrape import Scraper
from specdec_operator.settings import Settings, read_settings


async def operate(settings: Settings, stop: asyncio.Event | None = None) -> None:
    """Runs until stopped."""
    cluster = await ApiServer.connect()
    prometheus = PrometheusReader(clock=time.time, timeout=settings.scrape_timeout, limit=settings.scrape_limit)
    scraper = Scraper(timeout=settings.scrape_timeout, limit=settings.scrape_limit)
    stores = Stores()
    surroundings = Surroundings(
        cluster,
        clock=time.time,
        namespace=settings.kserve_namespace,
        told=settings.kserve_version,
        initializer=settings.storage_initializer,
    )
    readers = Readers(scraper, prometheus, clock=time.time)
    loop = Loop(cluster, readers, stores, surroundings, clock=time.time, prometheus=settings.prometheus_urls)
    try:
        await kopf.operator(
            registry=REGISTRY,
            memo=App(loop=loop, stores=stores, wakeups=Wakeups(), turned=time.time()),
            standalone=True,
            clusterwide=not settings.namespaces,
            namespaces=settings.namespaces,
            liveness_endpoint=f"http://0.0.0.0:{settings.health_port}/healthz",
            stop_flag=stop,
        )
    finally:
        await scraper.close()
        await prometheus.close()
        await cluster.close()


def main() -> None:
    """The command of the operator's image."""
    settings = read_settings()
    kopf.configure(log_format=kopf.LogFormat.JSON)
    for name in ("kopf", "aiohttp.access"):  # a line a watch event, a line a probe
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("specdec_operator").setLevel(settings.log_level)
    metrics.serve(settings.metrics_port)
    asyncio.run(operate(settings))


if __name__ == "__main__":
    main()
