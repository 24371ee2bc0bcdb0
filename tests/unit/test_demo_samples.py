"""The samples are the demo's whole input: they must be valid, and differ in nothing but speculation."""

import yaml
from hack.demo import samples

from specdec_operator.api.engine import Accelerator


def test_the_samples_differ_in_speculation_alone() -> None:
    """Else the demo would compare two things at once."""
    plain, speculative = (
        yaml.safe_load(file.read_text(encoding="utf-8")) for file in (samples.PLAIN, samples.SPECULATIVE)
    )
    assert speculative["spec"].pop("speculation")["tokens"] == 4
    assert plain == speculative


def test_the_samples_run_on_a_processor_with_windows_of_seconds() -> None:
    """What the README says about the demo: no accelerator, and a decision within seconds."""
    sample = samples.read(samples.SPECULATIVE)
    assert (sample.namespace, sample.name) == ("demo", "tiny")
    assert sample.spec.engine.accelerator is Accelerator.CPU
    assert sample.decision_bound == (sample.guard.failure_limit + 1) * sample.guard.window
    assert sample.decision_bound <= 30


def test_two_pods_of_the_samples_fit_on_two_cores_beside_a_kind_control_plane() -> None:
    """A surge needs room for both; kind's own pods ask for 950m, KServe and the operator for 150m."""
    cpu = samples.read(samples.SPECULATIVE).spec.resources
    assert cpu is not None
    assert 2 * int(cpu["requests"]["cpu"].removesuffix("m")) + 950 + 150 <= 2000
