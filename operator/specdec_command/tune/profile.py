"""The acceptance of a draft as `speculation_profile.json`, the file that NVIDIA's Model Optimizer puts beside a draft
(version 1.0, NVIDIA/Model-Optimizer#2247), for tools that predict speeds from it. Pure.

Its lengths count the target's own token too: length 1 is a step of which no draft token was accepted.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from specdec_command.measure.compare import Drafting, total
from specdec_command.tune.tuning import TuneContext, Tuning

FILE: Final = "speculation_profile.json"
_VERSION: Final = "1.0"
_TOLERANCE: Final = 0.02
"""By how much the mean may differ from what the rates by position come to, before the check in the file fails."""
_VERIFIED: Final = {"Standard": "longest_prefix", "Block": "block"}
"""Names of the ways to verify in the file; it has none for the lossy ones."""
_IN_A_CHAIN: Final = frozenset({"eagle", "eagle3", "draft_model"})
"""Methods whose first tokens are the same with fewer of them: one measurement shows the length at each smaller K."""


def profile_of(tuning: Tuning) -> dict[str, Any] | None:
    """The profile, by all rounds with the requested number of tokens. None if the engines showed no positions, or if
    they drafted for other clients too.
    """
    context = tuning.context
    drafted, steps = _drafted(tuning, context.requested), _steps(tuning, context.requested)
    if not drafted.drafts or not drafted.positions or tuning.has_strangers:
        return None
    positions = drafted.positions[: context.requested]
    marginal = [*(each / steps for each in positions), *[0.0] * (context.requested - len(positions))]
    length = 1 + drafted.accepted / steps
    return {
        "schema_version": _VERSION,
        "measured": True,
        "producer": "specdec tune",
        **_draft(context),
        "conditional_accept_rates": [*map(_short, _conditional(marginal))],
        "marginal_accept_rates": [*map(_short, marginal)],
        "mean_accept_length": _short(length),
        "mean_accept_length_per_request": None,
        "accept_length_by_k": _by_tokens(tuning),
        "acceptance_length_histogram": _histogram(steps, drafted.positions),
        "per_category": None,
        "measurement_conditions": _conditions(tuning),
        "validation": _validation(length, marginal),
    }


def _draft(context: TuneContext) -> dict[str, Any]:
    """What was measured, and at which numbers of tokens its rates hold too."""
    chain = context.method in _IN_A_CHAIN and not context.speculation.get("parallelDrafting")
    return {
        "method": context.method,
        "draft_checkpoint": {"id": _short_id(context.draft)} if context.draft else None,
        "target_model": {"id": _short_id(context.model)},
        "num_speculative_tokens": context.requested,
        "block_size": None,
        "max_supported_k": context.requested,
        "verification_method": _VERIFIED.get(context.speculation.get("rejection", "Standard"), "other"),
        "accept_length_model": "chain_analytic" if chain else "measured_per_k",
    }


def _drafted(tuning: Tuning, tokens: int) -> Drafting:
    return total(each.drafting for each in tuning.repeats if each.turn.tokens == tokens)


def _steps(tuning: Tuning, tokens: int) -> float:
    """Steps of all requests, also those without a draft: such a step yields one token. The first token of an answer is
    of the step that reads its prompt.
    """
    drafted = _drafted(tuning, tokens)
    answers = sum(len(each.answers) for each in tuning.repeats if each.turn.tokens == tokens)
    return drafted.drafts + max(0.0, drafted.generated - drafted.accepted - drafted.drafts - answers)


def _short_id(place: str) -> str:
    """The last two parts of a place, as in a hub's names: a file that is published shows no paths of a cluster."""
    return "/".join([part for part in place.partition("://")[2].split("/") if part][-2:]) or place


def _conditional(marginal: Sequence[float]) -> list[float]:
    """Of drafts whose tokens before a position were accepted: the share whose token there was too."""
    return [later / earlier if earlier else 0.0 for earlier, later in pairwise((1.0, *marginal))]


def _by_tokens(tuning: Tuning) -> dict[str, float]:
    """Tokens of a step, for each number of tokens that was tried."""
    tried = sorted({turn.turn.tokens for turn in tuning.repeats} - {0})
    steps = {tokens: _steps(tuning, tokens) for tokens in tried}
    return {str(each): _short(1 + _drafted(tuning, each).accepted / steps[each]) for each in tried if steps[each]}


def _histogram(steps: float, positions: Sequence[float]) -> dict[str, int]:
    """Number of steps of each length."""
    reached = (steps, *positions, 0.0)
    return {str(length): round(here - further) for length, (here, further) in enumerate(pairwise(reached), start=1)}


def _conditions(tuning: Tuning) -> dict[str, Any]:
    order, running = tuning.order, tuning.context.running
    return {
        "dataset": order.source,
        "dataset_digest": order.digest,
        "concurrency": list(order.concurrencies),
        "osl": order.max_tokens,
        "sampling": {key: value for key, value in order.request.items() if key in ("temperature", "top_p", "seed")},
        "engine": f"vllm {running.engine_version}",
        "image": running.image,
        "hardware": [dict(each.labels) or dict(each.capacity) for each in running.nodes],
        "date": tuning.context.at,
    }


def _validation(length: float, marginal: Sequence[float]) -> Mapping[str, Any]:
    """What a reader checks first: that the mean is that of the rates, and that no later position is accepted more."""
    implied = 1 + sum(marginal)
    wrong = [place for place, (earlier, later) in enumerate(pairwise(marginal), start=1) if later > earlier + 1e-9]
    return {
        "mean_consistency": {
            "implied_mean_accept_length": _short(implied),
            "reported_mean_accept_length": _short(length),
            "abs_delta": _short(abs(implied - length)),
            "tolerance": _TOLERANCE,
            "passed": abs(implied - length) <= _TOLERANCE,
        },
        "marginal_monotonicity": {
            "passed": not wrong,
            "violations": [
                {"position": place, "value": marginal[place], "previous": marginal[place - 1]} for place in wrong
            ],
        },
    }


def _short(value: float) -> float:
    return round(value, 6)
