"""Prints, for specs by name, what the code on the path makes of them: hashes and revisions. Runs old and new code.

`python released.py < specs.json`
"""

import json
import sys
from typing import Any

from specdec_operator.api.spec import Spec
from specdec_operator.guard.state import Phase, State

try:
    from specdec_operator.guard.decisions import Reduction, Rollback
except ImportError:  # the first release
    from specdec_operator.guard.state import Reduction, Rollback
try:
    from specdec_operator.api.spec import Owner
    from specdec_operator.reconcile.sis import service_hash, speculation_hash
    from specdec_operator.render.inference_service import render
    from specdec_operator.render.plan import ClusterFacts, plan

    SEEN: dict[str, Any] = {"seen": ClusterFacts(prepared=True)}
except ImportError:  # where they were at 2e5ec2f
    from specdec_operator.control.sis import service_hash, speculation_hash  # type: ignore[import-not-found,no-redef]
    from specdec_operator.serving.owner import Owner  # type: ignore[import-not-found,no-redef]
    from specdec_operator.serving.plan import plan  # type: ignore[import-not-found,no-redef]
    from specdec_operator.serving.render import render  # type: ignore[import-not-found,no-redef]

    SEEN = {}

HASHES = ("speculation", "service")
_WHY: Any = {"reason": "AcceptanceRateLow", "message": "acceptance 0.02 < 0.30", "at": 0.0}
_STATES = {
    "asked": State(phase=Phase.WATCHING, since=0.0, speculation=""),
    "fewer": State(phase=Phase.WATCHING, since=0.0, speculation="", reduced=Reduction(tokens=1, **_WHY)),
    "plain": State(phase=Phase.ROLLED_BACK, since=0.0, speculation="", rollback=Rollback(**_WHY)),
}


def computed(written: dict[str, Any]) -> dict[str, str]:
    """Both hashes, and the revision in each state.

    A foreign runtime starts specdec_runtime, as earlier releases required: its Deployment shows it.
    """
    spec, owner = Spec.model_validate(written), Owner(name="llama", namespace="team-a", uid="u-1")
    revisions = {
        name: render(plan(spec, state, name="llama", **SEEN), owner).revision for name, state in _STATES.items()
    }
    return {"speculation": speculation_hash(spec), "service": service_hash(spec), **revisions}


if __name__ == "__main__":
    json.dump({name: computed(spec) for name, spec in json.load(sys.stdin).items()}, sys.stdout)
