"""The conditions of a service: which there are, what each means and which status is the good one. Declared once."""

from enum import StrEnum


class ConditionType(StrEnum):
    """By name. Ready sums up the others. Conditions that are good when False are written only while True, except
    RolledBack.

    good: the status that needs no attention. meaning: what `True` means.
    """

    good: str
    meaning: str

    def __new__(cls, name: str, good: str, meaning: str) -> "ConditionType":
        each = str.__new__(cls, name)
        each._value_, each.good, each.meaning = name, good, meaning
        return each

    READY = "Ready", "True", "pods answer requests"
    RECONCILING = "Reconciling", "False", "pods are being started or replaced"
    STALLED = "Stalled", "False", "blocked until the user changes something"
    ENFORCING = "Enforcing", "True", "the guard may take speculation out of the guarded InferenceService"
    REPLACING = "Replacing", "False", "old pods stop before new ones start: there is no room for both"
    CONTESTED = "Contested", "False", "other clients change the InferenceService repeatedly"
    HELD = "Held", "False", "annotation specdec.io/hold keeps the guard from changing anything"
    ARTIFACTS_STAGED = "ArtifactsStaged", "True", "target and draft are available to the engine"
    ROLLED_BACK = "RolledBack", "False", "the guard took out the requested speculation"
    SPECULATION_ACTIVE = "SpeculationActive", "True", "draft tokens are counted while tokens are generated"
    GUARD_PASSING = "GuardPassing", "True", "the newest judged window passed"
    COMPARING = "ComparingWithPlain", "False", "baseline pods (no speculation) run for comparison"
    COLLATERAL = "Collateral", "False", "another measure is worse with speculation than guard.collateral allows"
    INSTRUMENTED = "Instrumented", "True", "the pods have preflight, startup proof, drain and reports of ends"
    WARNED = "Warned", "False", "the engine accepts the spec, with a warning"
    STATE_UNREADABLE = "StateUnreadable", "False", "a part of the status could not be read in the last 24 hours"
    MEMORY_FITS = "MemoryFits", "True", "target, draft and KV cache fit the device"


def is_good(name: str, status: str) -> bool | None:
    """Whether a condition is as it should be; None where that is not known.

    A type of another release is taken for a good one when it is True, as Kubernetes recommends.
    """
    if status not in ("True", "False"):
        return None
    return status == next((each.good for each in ConditionType if each == name), "True")
