"""Which KServe is run: a version that the Go module proxy serves, or a controller that the user built."""

import os
import pathlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from hack.cluster.errors import ClusterError
from hack.cluster.versions import KSERVE

MODULE: Final = "github.com/kserve/kserve"
SUMS: Final = {
    "0.16.0": "h1:kDkcAU5VMiZf4zhdDXH+UdAIgzXhs10GMv0d9r4qvTs=",
    "0.17.0": "h1:IaynaBFzVQz1Xyrw5n3ncqzd5Y7L1RkO+YWvVwwtMQE=",
    "0.19.0": "h1:8Pbdm9Ekn1JEuHrobqJhZI4uRHyf5bk1ofb5+3kEI14=",
    "0.20.0": "h1:Bs7HxmGV4KFqqptDcWseKv+mwD4YOYHJWcuVgPG2Gug=",
}
"""What the proxy serves, with the hash of each module. It refuses 0.18.0 and 0.21.0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KServeChoice:
    """The KServe that is wanted.

    version: of the manifests, and of the controller unless `manager` names another one. manager: a program that the
    user built. config: the folder `config` of its source, where its manifests are not those of `version`.
    """

    version: str = KSERVE
    manager: pathlib.Path | None = None
    config: pathlib.Path | None = None

    @property
    def name(self) -> str:
        """One line for people, equal for equal choices: the version, or where the controller came from."""
        if self.manager is None:
            return self.version
        return f"{self.manager}, with the manifests of {self.config or self.version}"


def chosen(environment: Mapping[str, str] | None = None) -> KServeChoice:
    """Read KSERVE, KSERVE_MANAGER and KSERVE_CONFIG. Raises ClusterError where one of them names nothing to be had."""
    given = os.environ if environment is None else environment
    version = given.get("KSERVE") or KSERVE
    if version.removeprefix("v") not in SUMS:
        raise ClusterError(refusal(version))
    return KServeChoice(
        version=version.removeprefix("v"),
        manager=_existing(given, "KSERVE_MANAGER", "an executable file", _runs),
        config=_existing(given, "KSERVE_CONFIG", "the folder `config` of KServe's source", _configures),
    )


def refusal(version: str) -> str:
    """Why a version cannot be built here, and the way to run it all the same."""
    return (
        f"KSERVE={version}: the Go module proxy serves {', '.join(sorted(SUMS))} of KServe. For another version, build "
        "cmd/manager of its source and set KSERVE_MANAGER to that program and KSERVE_CONFIG to the source's folder "
        "`config`"
    )


def _runs(path: pathlib.Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _configures(path: pathlib.Path) -> bool:
    return (path / "default" / "kustomization.yaml").is_file()


def _existing(
    given: Mapping[str, str], name: str, what: str, fits: Callable[[pathlib.Path], bool]
) -> pathlib.Path | None:
    value = given.get(name)
    if not value:
        return None
    path = pathlib.Path(value).resolve()
    if not fits(path):
        raise ClusterError(f"{name}={value} must be {what}; unset it to use KServe {KSERVE} as it is built here")
    return path
