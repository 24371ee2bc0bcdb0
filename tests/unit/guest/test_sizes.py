"""How much of a guest is read."""

import pytest

from specdec_operator.guest.sizes import MOST_COMMAND_BYTES, command_bytes, is_too_long, predictor_containers


def test_bytes_of_command_and_args_are_counted_together_as_the_api_server_counts() -> None:
    """In UTF-8; what is not text counts as its text; half of a pair of UTF-16 does not fail."""
    assert command_bytes({"command": ["bash", "-c"], "args": ["é", 7, "\ud800"]}) == 4 + 2 + 2 + 1 + 1
    assert command_bytes({"args": None}) == 0


def test_values_that_kubernetes_puts_in_count_as_often_as_they_are_named() -> None:
    """One of 100 kB in 2,000 places takes 400 MiB. A variable without a value, or without a name here, adds nothing."""
    env = [{"name": "A", "value": "x" * 100}, {"name": "B", "valueFrom": {}}, {"name": "C", "value": "x" * 999}]
    container = {"args": ["--a=$(A)", "$(A)$(B)$(other)"], "env": env}
    assert command_bytes(container) == len("--a=$(A)$(A)$(B)$(other)") + 2 * 100


@pytest.mark.parametrize(("more", "wanted"), [(0, False), (1, True)])
def test_the_longest_command_is_read_and_one_byte_more_is_not(more: int, wanted: bool) -> None:
    """Of one container, however it is shared out between command and args."""
    half = MOST_COMMAND_BYTES // 2
    assert is_too_long([{}, {"command": ["x" * half], "args": ["x" * (half + more)]}]) is wanted


def test_an_inference_service_has_the_command_lines_of_its_model_and_its_containers() -> None:
    """Both are optional."""
    predictor = {"model": {"args": ["a"]}, "containers": [{"name": "c", "args": ["b"]}]}
    found = [each["args"] for each in predictor_containers({"spec": {"predictor": predictor}}) if "args" in each]
    assert found == [["a"], ["b"]]
    assert [*predictor_containers({})] == [{"name": "model"}]
