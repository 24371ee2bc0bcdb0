"""How the status has the speed of the plain service: in numbers for people, and in the sums that they are made of."""

from dataclasses import dataclass, field
from typing import Annotated

from specdec_operator.api.kept import Form, means
from specdec_operator.guard.baseline import Plain
from specdec_operator.guard.mix import Mix
from specdec_operator.guard.statistics import RatioSums, TokenTime


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlainSpeed:
    """The baseline at one load."""

    load: int = field(metadata=means("Running requests per pod, rounded to a power of two."))
    time_per_output_token_ms: float = field(metadata=means("Mean, in milliseconds."))
    error_ms: float | None = field(default=None, metadata=means("Standard error of the mean, in milliseconds."))
    tokens_per_second: float = field(metadata=means("Tokens per second of one pod at this load."))
    requests: int = field(metadata=means("Requests that ended."))
    blocks: int = field(metadata=means("Measured blocks of time."))
    sums: tuple[float, float, float, float, float, float, float] = field(
        metadata=means(
            "For the operator: sums over the blocks of seconds, output tokens, their squares and products, tokens "
            "generated, and seconds measured."
        )
    )
    mix: Mix | None = field(default=None, metadata=means("The traffic of the measurement; absent: unknown."))


def _read(kept: _PlainSpeed) -> Plain:
    total, of, total_total, total_of, of_of, tokens, seconds = kept.sums
    times = RatioSums(blocks=kept.blocks, total=total, of=of, total_total=total_total, total_of=total_of, of_of=of_of)
    seen = TokenTime(times=times, requests=kept.requests, tokens=tokens, seconds=seconds, mix=kept.mix)
    return Plain(load=kept.load, token_time=seen)


def _written(plain: Plain) -> _PlainSpeed:
    seen, times = plain.token_time, plain.token_time.times
    return _PlainSpeed(
        load=plain.load,
        time_per_output_token_ms=round(1000 * (times.mean or 0.0), 3),
        error_ms=None if times.error is None else round(1000 * times.error, 4),
        tokens_per_second=round(seen.tokens / seen.seconds, 1) if seen.seconds else 0.0,
        requests=round(seen.requests),
        blocks=times.blocks,
        sums=(times.total, times.of, times.total_total, times.total_of, times.of_of, seen.tokens, seen.seconds),
        mix=seen.mix,
    )


KeptPlain = Annotated[Plain, Form(_read, _written, _PlainSpeed)]
