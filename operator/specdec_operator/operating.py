"""Starts the operator: settings, logging, the shared objects, kopf. Nothing else."""

import asyncio
import logging
import platform
import time
from collections.abc import Callable
from functools import partial

import kopf

from specdec_operator import metrics
from specdec_operator.clock import SteadyClock
from specdec_operator.cluster import ApiServer, Cluster
from specdec_operator.control import served
from specdec_operator.control.addresses import is_local
from specdec_operator.control.handlers import REGISTRY, App, Pulse
from specdec_operator.control.loop import Loop
from specdec_operator.control.patient import watch_patiently
from specdec_operator.control.readers import Readers
from specdec_operator.control.stores import Stores
from specdec_operator.control.surroundings import Surroundings
from specdec_operator.control.throttle import Throttle
from specdec_operator.control.wakeups import Wakeups
from specdec_operator.fenced import Fenced
from specdec_operator.heap import give_back, keep_small
from specdec_operator.leading import lead
from specdec_operator.prometheus import PrometheusReader
from specdec_operator.scrape import Scraper
from specdec_operator.settings import Settings, read_settings
from specdec_operator.web.seen import Seen
from specdec_operator.web.server import WebServer


async def operate(settings: Settings, may_write: Callable[[], bool] = lambda: True) -> None:
    """Runs until stopped. may_write: whether this replica leads."""
    metrics.count_tasks(asyncio.get_running_loop())
    clock, api_server = SteadyClock(), await ApiServer.connect()
    cluster = Fenced(api_server, may_write)
    prometheus = PrometheusReader(clock=clock, timeout=settings.scrape_timeout, limit=settings.scrape_limit)
    scraper = Scraper(timeout=settings.scrape_timeout, limit=settings.scrape_limit)
    stores = Stores()
    surroundings = Surroundings(
        cluster,
        clock=clock,
        namespace=settings.kserve_namespace,
        told=settings.kserve_version,
        initializer=settings.storage_initializer,
    )
    readers = Readers(scraper, prometheus, clock=clock, local=is_local(api_server.server))
    wakeups = Wakeups()
    throttle = Throttle(settings.rollouts, wakeups.wake)
    urls = settings.prometheus_urls
    loop = Loop(cluster, readers, stores, surroundings, throttle=throttle, clock=clock, prometheus=urls)
    seen = Seen(stores.pods)
    page = WebServer(seen, names=settings.web_hosts, clock=clock)
    app = App(loop=loop, stores=stores, wakeups=wakeups, seen=seen, pulse=Pulse(turned=time.monotonic()))
    try:
        await page.start(settings.web_address, settings.web_port)
        while await _watch(settings, cluster, app):
            pass
    finally:
        await page.stop()
        await scraper.close()
        await prometheus.close()
        await api_server.close()


async def _watch(settings: Settings, cluster: Cluster, app: App) -> bool:
    """Runs kopf until it is stopped. Returns whether to run it anew: the cluster serves more than it did."""
    arrived = asyncio.Event()
    waiting = served.wait_for(cluster, await served.missing(cluster), arrived)
    beside = [asyncio.create_task(each) for each in (waiting, keep_small())]
    try:
        await kopf.operator(
            registry=REGISTRY,
            memo=app,
            standalone=True,
            clusterwide=not settings.namespaces,
            namespaces=settings.namespaces,
            liveness_endpoint=f"http://0.0.0.0:{settings.health_port}/healthz",
            stop_flag=arrived,
        )
    finally:
        for each in beside:
            each.cancel()
    return arrived.is_set()


def main() -> None:
    """Works until it is stopped."""
    settings = read_settings()
    give_back()
    kopf.configure(log_format=kopf.LogFormat.JSON)
    watch_patiently()
    for name in ("kopf", "aiohttp.access"):  # a line a watch event, a line a probe
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("specdec_operator").setLevel(settings.log_level)
    metrics.serve(settings.metrics_port)
    if settings.leader_lease:
        asyncio.run(lead(settings, partial(operate, settings), identity=platform.node()))
    else:
        asyncio.run(operate(settings))
