"""Starts the operator: settings, logging, the shared objects, kopf. Nothing else."""

import asyncio
import logging
import platform
import signal
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import kopf

from specdec_operator import metrics
from specdec_operator.app import discovery
from specdec_operator.app.handlers import App
from specdec_operator.app.inventory import Inventory
from specdec_operator.app.services import Services
from specdec_operator.app.watches import is_worth_a_line, watch
from specdec_operator.errors import OperatorError
from specdec_operator.kube.client import ApiServer
from specdec_operator.kube.cluster import Cluster
from specdec_operator.leadership.election import lead
from specdec_operator.leadership.shards import share_out
from specdec_operator.leadership.share import Share, all_services
from specdec_operator.names import Key
from specdec_operator.observe.store import Stores
from specdec_operator.process.clock import SteadyClock
from specdec_operator.process.delay import keep_timing
from specdec_operator.process.health import HealthServer
from specdec_operator.process.memory import give_back, keep_small
from specdec_operator.reconcile.cluster_info import ClusterInfo
from specdec_operator.reconcile.guest_writes import bring_back_left
from specdec_operator.reconcile.loop import Reconciler, ReconcileResult
from specdec_operator.reconcile.queue import WorkQueue
from specdec_operator.reconcile.throttle import Throttle
from specdec_operator.scrape.access import AccessReader
from specdec_operator.scrape.pods import PodMetrics
from specdec_operator.scrape.prometheus import PrometheusReader
from specdec_operator.scrape.source import MetricsSource, is_local
from specdec_operator.settings import Settings, read_settings
from specdec_operator.web.server import WebServer
from specdec_operator.web.store import ServiceStore

_LOG = logging.getLogger(__name__)
_PAUSE: Final = 1.0
"""Seconds before the watches begin again, because they begin with lists; doubled while they end before all is listed:
lists of every kind each second do not help an API server without time to answer."""
_LONGEST_PAUSE: Final = 16.0


async def run_operator(settings: Settings, health: HealthServer, stop: asyncio.Event, share: Share) -> None:
    """Works until `stop` is set. share: the services that are this process's."""
    metrics.count_tasks(asyncio.get_running_loop())
    clock, cluster = SteadyClock(), await ApiServer.connect(share.may_write)
    prometheus = PrometheusReader(clock=clock, timeout=settings.scrape_timeout, limit=settings.scrape_limit)
    pod_metrics = PodMetrics(timeout=settings.scrape_timeout, limit=settings.scrape_limit)
    access, local = AccessReader(cluster, clock), is_local(cluster.server)
    source = MetricsSource(pod_metrics, prometheus, access, clock=clock, local=local)
    app = _app(settings, share, cluster, source, clock)
    page = WebServer(app.services.page, names=settings.web_hosts, clock=clock)
    together = (keep_small(), keep_timing(metrics.loop_delayed), _bring_back(settings, cluster, app))
    beside = [asyncio.create_task(each) for each in together]
    try:
        health.works(app.health)
        await page.start(settings.web_address, settings.web_port)
        pause = _PAUSE
        while not stop.is_set():
            await _watch(settings, cluster, app, share, stop, pause)
            pause = _PAUSE if app.stores.listed else min(2 * pause, _LONGEST_PAUSE)
    finally:
        for each in beside:
            each.cancel()
        await page.stop()
        await app.queue.close()
        await pod_metrics.close()
        await prometheus.close()
        await cluster.close()


def _app(settings: Settings, share: Share, cluster: Cluster, source: MetricsSource, clock: SteadyClock) -> App:
    """The shared objects. The queue calls services, services call the reconciler; nothing points back."""
    stores = Stores()

    async def reconcile(key: Key, woken: bool) -> ReconcileResult:
        return await services.reconcile(key, woken)

    def gone(kind: str, end: Mapping[str, Any]) -> None:
        app.is_gone(kind, end)

    queue = WorkQueue(reconcile)
    cluster_info = ClusterInfo(
        cluster,
        clock=clock,
        namespace=settings.kserve_namespace,
        told=settings.kserve_version,
        initializer=settings.storage_initializer,
        runtimes=settings.runtimes,
        runtime_images=settings.runtime_images,
        image=settings.image,
    )
    throttle = Throttle(settings.rollouts, queue.wake)
    reconciler = Reconciler(
        cluster,
        source,
        stores,
        cluster_info,
        throttle=throttle,
        clock=clock,
        prometheus=settings.prometheus_urls,
        most_guests=settings.guests_per_namespace,
    )
    services = Services(reconciler, cluster, ServiceStore(stores.pods))
    inventory = Inventory(cluster, settings.namespaces, owns=share.owns, gone=gone)
    app = App(services=services, stores=stores, queue=queue, inventory=inventory, owns=share.owns)
    return app


async def _watch(
    settings: Settings, cluster: Cluster, app: App, share: Share, stop: asyncio.Event, pause: float
) -> None:
    """Watches until a watch must begin again: for other namespaces, a kind that the cluster lacked, or an error.

    pause: seconds to wait after an error.
    """
    share.changed.clear()
    app.inventory.begin()
    app.stores.listed = False
    again = asyncio.Event()
    watching = asyncio.create_task(_discover_and_watch(settings, cluster, app, again))
    waiting = [asyncio.create_task(each.wait()) for each in (stop, share.changed, again)]
    listing = asyncio.create_task(_keep_listed(app, again, pause))
    try:
        await asyncio.wait({watching, *waiting}, return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            # kopf ends where a watch or a list is answered with an error for long: nothing of ours is lost by that.
            _LOG.warning("the watches restart: %s", watching.exception())
            await asyncio.wait(waiting, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
    finally:
        beside = (watching, listing, *waiting)
        for each in beside:
            each.cancel()
        await asyncio.gather(*beside, return_exceptions=True)


async def _discover_and_watch(settings: Settings, cluster: Cluster, app: App, again: asyncio.Event) -> None:
    """Never returns. Raises what ended the watches. again: is set once a kind is served that was not."""
    arriving = asyncio.create_task(discovery.wait_for(cluster, await discovery.missing(cluster), again))
    try:
        await watch(settings, app.take)
    finally:
        arriving.cancel()


async def _keep_listed(app: App, again: asyncio.Event, pause: float) -> None:
    """Nothing is decided until the watches have reported all objects; then looks for deletions without an event."""
    try:
        await app.inventory.complete()
        app.stores.listed = True
        await app.inventory.keep()
    except Exception:
        _LOG.exception("cannot compare the existing objects with those of the watches")
        await asyncio.sleep(pause)
        again.set()


async def _bring_back(settings: Settings, cluster: Cluster, app: App) -> None:
    """Brings back what services took out of what they guarded, once they are gone: now, or before this start."""

    def is_left(namespace: str, uid: str) -> bool:
        return app.owns(namespace) and not app.services.has(uid)

    def is_free(namespace: str, name: str) -> bool:
        return app.owns(namespace) and not app.stores.guards.has_guard(namespace, name)

    app.services.left.set()
    while True:
        await app.services.left.wait()
        await asyncio.sleep(_PAUSE)
        if not app.stores.listed:
            continue
        app.services.left.clear()
        try:
            whole = await bring_back_left(cluster, settings.namespaces, is_left, is_free)
        except OperatorError as error:
            _LOG.warning("cannot search for removed speculation of guests: %s", error.message)
            whole = False
        if not whole:
            await asyncio.sleep(_LONGEST_PAUSE)
            app.services.left.set()


async def _run(settings: Settings) -> None:
    """Works until a signal to stop comes: alone, as one of several replicas, or as one of several shards."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    health = HealthServer(settings.health_port)
    await health.start()
    work = partial(run_operator, settings, health, stop)
    try:
        if settings.shards > 1:
            await share_out(settings, work, stop, identity=platform.node())
        elif settings.leader_lease:
            await lead(settings, work, stop, identity=platform.node())
        else:
            await work(all_services())
    finally:
        await health.stop()


def main() -> None:
    """Works until it is stopped."""
    settings = read_settings()
    give_back()
    kopf.configure(log_format=kopf.LogFormat.JSON)
    for handler in logging.getLogger().handlers:
        handler.addFilter(is_worth_a_line)
    for name in ("kopf", "aiohttp.access"):  # a line a watch event, a line a probe
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("specdec_operator").setLevel(settings.log_level)
    metrics.serve(settings.metrics_port)
    asyncio.run(_run(settings))
