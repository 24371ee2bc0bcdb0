"""KServe on the single node: the project's stand-in, or a real controller binary named by KSERVE_MANAGER.

Either runs as a process in the cluster's network namespace. On kind, kind.py installs the real KServe."""

import os
import pathlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hack.cluster import kubectl, netns, packages, pki, process, record, shell
from hack.cluster.errors import ClusterError
from hack.cluster.paths import Layout
from hack.cluster.record import Flavour

PROCESS = "kserve"
_STAND_IN_LINE = b"this is the KServe stand-in"
NAMESPACE = "kserve"
REPOSITORY = pathlib.Path(__file__).parents[2]
MINIMAL_CRDS = REPOSITORY / "tests" / "kserve_standin" / "crds"
_OBJECTS = pathlib.Path(__file__).parent / "kserve-objects.yaml"
_CRD_NAME = re.compile(r"^  name: (\S+)$", re.MULTILINE)
_HEALTH = "http://127.0.0.1:8081/readyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which controller is wanted, and whose CRDs."""

    flavour: Flavour
    manager: pathlib.Path | None = None
    crds: pathlib.Path | None = None

    @property
    def detail(self) -> str:
        """One line for people, equal for equal choices."""
        return f"{self.manager or 'tests.kserve_standin'}, CRDs of {self.crds or 'the project'}"


def chosen(environment: Mapping[str, str] | None = None) -> Choice:
    """Read KSERVE_MANAGER and KSERVE_CRDS; each must point to something that exists."""
    given = os.environ if environment is None else environment
    manager = _existing(
        given, "KSERVE_MANAGER", "an executable file", lambda path: path.is_file() and os.access(path, os.X_OK)
    )
    crds = _existing(given, "KSERVE_CRDS", "a folder with YAML files", lambda path: any(path.glob("*.yaml")))
    return Choice(flavour=Flavour.REAL if manager else Flavour.STAND_IN, manager=manager, crds=crds)


def flavour() -> Flavour:
    """Tell whose controller the running cluster has."""
    return record.running().kserve


def crd_files(extra: pathlib.Path | None) -> list[pathlib.Path]:
    """Take every CRD from the extra folder where it has one, and from the project's minimal set where not."""
    found = {crd_name(file): file for file in sorted(MINIMAL_CRDS.glob("*.yaml"))}
    if extra is not None:
        found |= {crd_name(file): file for file in sorted(extra.glob("*.yaml"))}
    if not found:
        raise ClusterError(f"there is no CRD in {MINIMAL_CRDS}, and KSERVE_CRDS is not set")
    return list(found.values())


def crd_name(file: pathlib.Path) -> str:
    """Read a CRD's name from its head: parsing two megabytes of schema for it would take seconds."""
    found = _CRD_NAME.search(file.read_text())
    if found is None:
        raise ClusterError(f"{file} does not look like a CRD: no line says `  name: …` below `metadata:`")
    return found[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """Installs and starts the chosen controller on the single node."""

    layout: Layout
    choice: Choice

    def start(self) -> None:
        """Install the CRDs and the configuration, and start the controller in place of one that may be running."""
        self.stop()
        self._install_crds()
        kubectl.apply_files(self.layout.kubeconfig, [_OBJECTS])
        if self.choice.flavour is Flavour.REAL:
            self._start_manager()
        else:
            self._start_stand_in()

    def stop(self) -> None:
        """End the controller; what it made stays."""
        running = process.recall(self.layout.processes, PROCESS)
        process.stop([running] if running else [], grace=5.0)

    def _install_crds(self) -> None:
        files = crd_files(self.choice.crds)
        kubectl.apply_files(self.layout.kubeconfig, files)
        kubectl.wait_established(self.layout.kubeconfig, [crd_name(file) for file in files])

    def _start_stand_in(self) -> None:
        words = [sys.executable, "-m", "tests.kserve_standin", "run", f"--kubeconfig={self.layout.inner_kubeconfig}"]
        log = self.layout.log / f"{PROCESS}.log"
        told = log.stat().st_size if log.exists() else 0
        self._spawn(words, {"PYTHONPATH": str(REPOSITORY)})
        process.until(
            "first line of the KServe stand-in",  # it has no port to ask; this line says that it has begun
            lambda: _STAND_IN_LINE in log.read_bytes()[told:],
            layout=self.layout,
            needs=(PROCESS,),
            timeout=30,
        )

    def _start_manager(self) -> None:
        """Start the real controller. Its webhook server wants a certificate, though nothing calls it."""
        scratch = self.layout.run / "kserve"
        certificates = scratch / "k8s-webhook-server" / "serving-certs"
        certificates.mkdir(parents=True, exist_ok=True)
        pki.self_signed(certificates, "tls", "/CN=kserve-webhook", names="IP:127.0.0.1")
        environment = {
            "KUBECONFIG": str(self.layout.inner_kubeconfig),
            "POD_NAMESPACE": NAMESPACE,
            "TMPDIR": str(scratch),
        }
        self._spawn([str(self.choice.manager)], environment)
        process.until(
            "answer from the KServe controller", self._healthy, layout=self.layout, needs=(PROCESS,), timeout=60
        )

    def _healthy(self) -> bool:
        program = f"import urllib.request as r; r.urlopen({_HEALTH!r}, timeout=2)"
        return shell.ask(netns.entered(self.layout.namespace, [sys.executable, "-I", "-c", program])).code == 0

    def _spawn(self, argv: list[str], environment: dict[str, str]) -> None:
        process.spawn(
            PROCESS,
            netns.entered(self.layout.namespace, argv),
            folder=self.layout.processes,
            log=self.layout.log / f"{PROCESS}.log",
            env={"PATH": packages.search_path()} | environment,
        )


def _existing(
    given: Mapping[str, str], name: str, what: str, fits: Callable[[pathlib.Path], bool]
) -> pathlib.Path | None:
    value = given.get(name)
    if not value:
        return None
    path = pathlib.Path(value).resolve()
    if not fits(path):
        raise ClusterError(f"{name}={value} must be {what}; unset it to use the project's own")
    return path
