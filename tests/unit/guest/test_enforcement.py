"""What the guard may do about an InferenceService of another owner."""

from specdec_operator.guest.enforcement import Enforcement
from specdec_operator.guest.patch import SpeculationPlace, TakenOut

PLACE = SpeculationPlace(path="/spec/predictor/model/args", value=["-sc=x"], baseline=[])
TAKEN = TakenOut(service="s", uid="u", path=PLACE.path, value=["-sc=x"], words=["-sc=x"], revision="r")


def test_a_service_that_does_not_ask_to_act_keeps_only_what_was_taken_out_and_by_which_service() -> None:
    """Its guest is read once, whether it asks or not."""
    allowed = Enforcement(may=True, place=PLACE, reason="Allowed", message="m")
    assert allowed.unasked() == Enforcement()
    assert Enforcement(reason="NotAllowed", message="m").unasked() == Enforcement()
    out = Enforcement(may=True, taken=TAKEN, reason="TakenOut", message="m")
    assert out.unasked() == Enforcement(may=False, taken=TAKEN, reason="TakenOut", message="m")
    for reason in ("PutBack", "TakenOutByAnother"):
        foreign = Enforcement(reason=reason, message="m")
        assert foreign.unasked() == foreign
