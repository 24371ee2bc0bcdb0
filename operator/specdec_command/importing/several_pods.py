"""Flags that spread one engine over several pods. A service has one pod for each replica."""

from typing import Any, Final

from specdec_engine.case import Case
from specdec_engine.flags import option
from specdec_engine.pod_devices import devices_wanted

_HERE: Final = ("127.0.0.1", "localhost", "::1", "0.0.0.0")  # noqa: S104 - a value of a flag
_NOT_ALONE: Final = ("headless", "data_parallel_external_lb", "data_parallel_hybrid_lb", "data_parallel_rank")
"""Flags of one of several engines, or of a part of one."""
_LATER: Final = ("node_rank", "data_parallel_start_rank")
"""Flags whose value above 0 names another pod than the first."""


def several_pods(case: Case) -> str:
    """The flag by which the engine runs over several pods; empty if it runs in one."""
    args = case.args
    if _number(args.get("nnodes")) > 1:
        return _flag("nnodes", args)
    for name in _NOT_ALONE:
        if args.get(name) not in (None, False):
            return _flag(name, args)
    for name in _LATER:
        if _number(args.get(name)) > 0:
            return _flag(name, args)
    local = args.get("data_parallel_size_local")
    if local is not None and _number(local) < case.size("data_parallel_size"):
        return _flag("data_parallel_size_local", args)
    address = args.get("data_parallel_address")
    if address is not None and str(address) not in _HERE:
        return _flag("data_parallel_address", args)
    return _by_ray(case)


def _by_ray(case: Case) -> str:
    """Ray starts workers in other pods if one pod does not have the devices."""
    few = case.devices is not None and devices_wanted(case) > case.devices
    for name in ("distributed_executor_backend", "data_parallel_backend"):
        if case.args.get(name) == "ray" and few:
            return f"{_flag(name, case.args)} with {devices_wanted(case)} devices, of which the pod has {case.devices}"
    return ""


def _number(value: Any) -> int:
    return int(value) if str(value).isdecimal() else 0


def _flag(name: str, args: Any) -> str:
    value = args[name]
    return option(name) if value is True else f"{option(name)}={value}"
