"""speculation_profile.json: the rates that other tools read."""

import pytest
from tests.unit.tune.samples import repeat, repeats, tuning

from specdec_command.measure.compare import Drafting
from specdec_command.tune.profile import profile_of


def test_rates_lengths_and_histogram_are_those_of_the_counters() -> None:
    """Half of the first tokens are accepted, half of those have an accepted second one, and so on."""
    found = profile_of(tuning(repeats(1, {0: 2.0, 2: 1.0, 4: 1.5})))
    assert found is not None
    assert found["marginal_accept_rates"] == [0.5, 0.25, 0.125, 0.0625]
    assert found["conditional_accept_rates"] == [0.5] * 4
    assert found["mean_accept_length"] == 1.9375
    assert found["accept_length_by_k"] == {"2": 1.75, "4": 1.9375}
    assert found["acceptance_length_histogram"] == {"1": 400, "2": 200, "3": 100, "4": 50, "5": 50}
    assert (found["schema_version"], found["measured"], found["num_speculative_tokens"]) == ("1.0", True, 4)
    assert found["accept_length_model"] == "chain_analytic"
    assert [each["passed"] for each in found["validation"].values()] == [True, True]
    conditions = found["measurement_conditions"]
    assert (conditions["dataset"], conditions["osl"], conditions["engine"]) == ("code", 128, "vllm 0.32.0")
    assert (found["draft_checkpoint"], found["target_model"]) == ({"id": "meta/draft"}, {"id": "meta/llama"})


@pytest.mark.parametrize(("rejection", "name"), [("Standard", "longest_prefix"), ("Block", "block"), ("Fly", "other")])
def test_how_drafts_were_verified_is_named(rejection: str, name: str) -> None:
    """Rates by block verification are of another kind."""
    found = profile_of(tuning(repeats(1, {4: 1.5}), speculation={"rejection": rejection}))
    assert found is not None
    assert found["verification_method"] == name


def test_steps_without_a_draft_are_steps_of_one_token() -> None:
    """A draft that is looked up is not there in each step. The first token of an answer is of no step that drafts."""
    rare = Drafting(drafts=10.0, drafted=40.0, accepted=30.0, generated=110.0, positions=(9.0, 8.0, 7.0, 6.0))
    found = profile_of(tuning([repeat(1, 1, 4, 1.0, drafting=rare)], method="ngram"))
    assert found is not None
    assert found["acceptance_length_histogram"] == {"1": 61, "2": 1, "3": 1, "4": 1, "5": 6}
    assert found["mean_accept_length"] == pytest.approx(100 / 70, abs=1e-6)
    assert [each["passed"] for each in found["validation"].values()] == [True, True]


def test_drafts_for_other_clients_make_no_profile() -> None:
    """The counters have both."""
    busy = Drafting(drafts=100.0, drafted=400.0, accepted=90.0, generated=200.0, positions=(50.0, 40.0))
    assert profile_of(tuning([repeat(1, 1, 4, 1.0, drafting=busy)])) is None


def test_positions_that_were_never_drafted_have_the_rate_0() -> None:
    """Drafts that are looked up can all be short."""
    short = Drafting(drafts=10.0, drafted=10.0, accepted=5.0, generated=25.0, positions=(5.0,))
    found = profile_of(tuning([repeat(1, 1, 4, 1.0, drafting=short)], method="ngram", draft=""))
    assert found is not None
    assert found["marginal_accept_rates"] == [0.5, 0.0, 0.0, 0.0]
    assert found["conditional_accept_rates"] == [0.5, 0.0, 0.0, 0.0]
    assert (found["draft_checkpoint"], found["accept_length_model"]) == (None, "measured_per_k")


@pytest.mark.parametrize(
    ("positions", "accepted", "check"),
    [((5.0, 6.0), 11.0, "marginal_monotonicity"), ((5.0, 4.0), 19.0, "mean_consistency")],
)
def test_counters_that_contradict_each_other_fail_a_check(
    positions: tuple[float, ...], accepted: float, check: str
) -> None:
    """The file shows it."""
    odd = Drafting(drafts=10.0, drafted=40.0, accepted=accepted, generated=110.0, positions=positions)
    found = profile_of(tuning([repeat(1, 1, 4, 1.0, drafting=odd)]))
    assert found is not None
    assert found["validation"][check]["passed"] is False


def test_without_positions_there_is_no_profile() -> None:
    """A file of zeros would be read as a bad draft."""
    assert profile_of(tuning([*repeats(1, {0: 1.0}), repeat(1, 1, 4, 1.0, drafting=Drafting())])) is None
