"""What requests ask next to their prompts, what decides the sampling, and when requests arrive."""

import pytest

from specdec_command.measure.requests import GREEDY, Sampling, arrivals, sampling_used

PRODUCTION = Sampling(greedy=False)


def test_arrivals_are_a_poisson_process_of_their_seed() -> None:
    """The mean gap is 1 / rate, its variance 1 / rate squared, and the same seed gives the same times."""
    times = arrivals(20_000, 4.0, seed=1)
    gaps = [after - before for before, after in zip((0.0, *times), times, strict=False)]
    mean = sum(gaps) / len(gaps)
    assert mean == pytest.approx(0.25, rel=0.03)
    assert sum((each - mean) ** 2 for each in gaps) / len(gaps) == pytest.approx(0.0625, rel=0.06)
    assert arrivals(5, 4.0, seed=1) == times[:5]
    assert arrivals(5, 4.0, seed=2) != times[:5]


@pytest.mark.parametrize(
    ("sampling", "command", "words"),
    [
        (GREEDY, (), "Greedy (temperature 0), with seed 0."),
        (PRODUCTION, (), "temperature and top_p by the engine's default: that of the model's generation_config.json"),
        (PRODUCTION, ("--generation-config=vllm",), "1 (--generation-config vllm: the model's file is not used)"),
        (PRODUCTION, ("--generation-config", "/cfg"), "that of generation_config.json in /cfg"),
        (
            PRODUCTION,
            ('--override-generation-config={"temperature": 0.6}',),
            '{"temperature": 0.6} of --override-generation-config comes before it',
        ),
        (
            Sampling(greedy=False, temperature=0.7),
            (),
            "Sampled, without a seed: temperature 0.7 as given; top_p by the engine's default",
        ),
        (Sampling(greedy=False, temperature=0.7, top_p=0.9), (), "temperature 0.7 and top_p 0.9 as given."),
    ],
)
def test_what_decides_the_sampling_is_stated(sampling: Sampling, command: tuple[str, ...], words: str) -> None:
    """As given, or by the engine's default, which its flags choose."""
    assert words in sampling_used(sampling, command)
