"""Offers the dial in vLLM's engine process: a general plugin, which does nothing unless the dial's folder is mounted.
In the operator's pods it also times the steps of an engine that does not speculate.

It never raises: vLLM would not start.
"""

from __future__ import annotations

import logging
import os
import random
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final

from specdec_engine import dial
from specdec_engine.methods import plain_name
from specdec_engine.version import Flavor, Version
from specdec_runtime.clock import alone
from specdec_runtime.clock.alone import DIPS
from specdec_runtime.clock.dips import Dips
from specdec_runtime.clock.hooks import StepClock
from specdec_runtime.dial import files, hooks, state, watch

if TYPE_CHECKING:
    from collections.abc import Callable

_LOG = logging.getLogger("vllm.specdec")
_MOST_DIPS: Final = 0.2
_LOOP: Final = "run_busy_loop"
_CORES: Final = ("EngineCoreProc", "DPEngineCoreProc")
_REASONS: Final = (dial.NoDialError, files.NotMountedError, hooks.HookMissingError, hooks.SelfTestError)


def register() -> None:
    """Have the engine's process offer the dial before its first step, if this pod is to have one. Without speculation
    the steps are timed alone.
    """
    if not (files.mounted() or alone.wanted()):
        return
    try:
        build = _build()
        if why := dial.unknown(*build):
            _decline(why)
            return
        from vllm.v1.engine import core  # type: ignore[import-not-found]  # noqa: PLC0415 - only inside vLLM

        for name in _CORES:
            kind = getattr(core, name)
            if _LOOP in vars(kind) and not hasattr(vars(kind)[_LOOP], "__wrapped__"):
                setattr(kind, _LOOP, _offering(vars(kind)[_LOOP]))
    except dial.NoDialError as error:
        _decline(str(error))
    except Exception as error:
        _decline(f"the engine is not as the dial knows it: {error!r}")


def _build() -> tuple[Flavor, Version]:
    from vllm import __version__  # type: ignore[import-not-found]  # noqa: PLC0415
    from vllm.platforms import current_platform  # type: ignore[import-not-found]  # noqa: PLC0415

    version = Version.parse(__version__)
    if current_platform.is_cpu():
        return Flavor.VLLM_CPU, version
    if current_platform.is_cuda():
        return Flavor.VLLM, version
    raise dial.NoDialError(f"platform {type(current_platform).__name__} is not in the table")


def _offering(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(original)
    def run_busy_loop(core: Any) -> Any:
        offer(core)
        return original(core)

    return run_busy_loop


def offer(core: Any) -> hooks.DialPosition | None:
    """Put the dial into an engine and start to follow the setting; None where the engine stays without one."""
    if alone.wanted():
        alone.begin(core)
    if not files.mounted():
        return None
    try:
        pod = state.DialledPod(started=_started(core), revision=files.revision())
        position = _installed(core, pod.started)
    except Exception as error:
        known = isinstance(error, _REASONS)
        _decline(str(error) if known else f"it could not be installed: {error!r}")
        return None
    clock = StepClock(core.scheduler, position, Dips(random.random, _share()))
    clock.install()
    watch.DialWatch(pod, position, clock).start()
    return position


def _share() -> float | None:
    """The share of the steps in dips that the pod's environment asks for; None: the usual one."""
    text = os.environ.get(DIPS, "")
    try:
        found = float(text) if text else None
    except ValueError:
        found = -1.0
    if found is not None and not 0 <= found <= _MOST_DIPS:
        _LOG.warning("specdec: %s is %r, not a share from 0 to %s: the usual share is used", DIPS, text, _MOST_DIPS)
        return None
    return found


def _started(core: Any) -> int:
    speculation = core.vllm_config.speculative_config
    if speculation is None:
        raise dial.NoDialError("the engine does not speculate")
    return int(speculation.num_speculative_tokens)


def _installed(core: Any, started: int) -> hooks.DialPosition:
    """Put the hooks in and try them. Raises for whatever is not as it should be, and then they are out again."""
    from vllm.v1.core.sched.output import SchedulerOutput  # type: ignore[import-not-found]  # noqa: PLC0415

    from specdec_runtime.dial import selftest  # noqa: PLC0415 - only inside vLLM

    case = _case(core)
    cell = dial.cell(case)
    way = hooks.DialWay(started=started, skip=cell.off is dial.DialOff.SKIPPED, cut=cell.cut)
    position = hooks.on_scheduler(core.scheduler, way, SchedulerOutput)
    try:
        if missing := [each for each in core.collective_rpc(partial(hooks.on_worker, way=way)) if each]:
            raise hooks.HookMissingError(missing[0])
        tried = selftest.run(core, position, case.method)
    except BaseException:
        _out_again(core)
        raise
    _LOG.info("specdec: this engine has a dial, 0 to %d tokens; tried with %s", started, tried)
    return position


def _out_again(core: Any) -> None:
    """Leave the engine as it was, and free of the self-test's requests."""
    hooks.off_scheduler(core.scheduler)
    core.collective_rpc(hooks.off_worker)
    if core.batch_queue:
        core.batch_queue.clear()
    core.abort_requests([each.request_id for each in (*core.scheduler.running, *core.scheduler.waiting)])


def _case(core: Any) -> dial.DialCase:
    config = core.vllm_config
    parallel, speculation = config.parallel_config, config.speculative_config
    flavor, version = _build()
    return dial.DialCase(
        flavor=flavor,
        version=version,
        second_runner=bool(config.use_v2_model_runner),
        method=plain_name(str(speculation.method)),
        parallel_drafting=bool(getattr(speculation, "parallel_drafting", False)),
        pipeline=int(parallel.pipeline_parallel_size),
        data=int(parallel.data_parallel_size),
    )


def _decline(why: str) -> None:
    if not files.mounted():
        return
    sentence = f"no dial: {why}"
    _LOG.warning("specdec: %s", sentence)
    files.leave({"offered": False, "why": sentence})
