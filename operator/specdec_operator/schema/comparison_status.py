"""What the status keeps of the comparison with the baseline: its speed by load, baseline pods, and what they showed."""

from typing import Annotated

from pydantic import Field

from specdec_operator.api.types import StatusPart, Time


class Mix(StatusPart):
    """What the traffic was like, summed over the requests whose first token was written."""

    answers: float = Field(description="Number of these.")
    prompt_tokens: float = Field(description="Prompt tokens of the requests that began.")
    cache_queries: float = Field(0.0, description="Prompt tokens for which the prefix cache was queried.")
    cache_hits: float = Field(0.0, description="Prompt tokens found in the prefix cache.")


class PlainSpeed(StatusPart):
    """The baseline at one load."""

    load: int = Field(description="Running requests per pod, rounded to a power of two.")
    time_per_output_token_ms: float = Field(description="Mean, in milliseconds.")
    error_ms: float | None = Field(None, description="Standard error of the mean, in milliseconds.")
    tokens_per_second: float = Field(description="Tokens per second of one pod at this load.")
    requests: int = Field(description="Requests that ended.")
    blocks: int = Field(description="Measured blocks of time.")
    sums: Annotated[list[float], Field(min_length=7, max_length=7)] = Field(
        description="For the operator: sums over the blocks of seconds, output tokens, their squares and products, "
        "tokens generated, and seconds measured."
    )
    mix: Mix | None = Field(None, description="The traffic of the measurement; absent: unknown.")


class Trial(StatusPart):
    """Windows with speculation and plain ones after them, in a service of one pod."""

    speculating: list[list[float]] = Field(
        description="For the operator: for each window its seconds, ended requests, their decode seconds, their "
        "tokens after the first, started requests, their prompt tokens, and their seconds until the first token "
        "(-1: unknown)."
    )
    plain: list[list[float]] = Field(description="The same values of the baseline windows.")
    least: float = Field(description="Required speedup.")
    seen: int = Field(description="Number of baseline windows so far.")


class Control(StatusPart):
    """Plain pods that are asked for beside the speculating ones."""

    replicas: int = Field(description="How many.")
    reason: str = Field(description="Reason, in one word.")
    message: str = Field(description="Reason, with numbers.")
    at: Time = Field(description="Time at which they were requested.")
    replaces: bool = Field(
        False, description=("Whether they replace speculating pods, because the cluster has no room for more.")
    )
    up: Time | None = Field(None, description="Time at which they started to serve.")


class Pair(StatusPart):
    """One window of both arms."""

    at: Time = Field(description="Time at which the window closed.")
    plain_ms: float = Field(description="Time per output token of the baseline, in milliseconds.")
    speculating_ms: float = Field(description="The same value with speculation.")
    seen: dict[str, Annotated[list[float], Field(min_length=2, max_length=2)]] = Field(
        description=(
            "By measure: the logarithm of the ratio of both arms (for the hit rate the difference), and its error."
        )
    )
    unlike: Annotated[list[float], Field(min_length=3, max_length=3)] = Field(
        description="Logarithms of baseline / speculating requests per pod, tokens per prompt, and tokens per answer."
    )
    pods: Annotated[list[int], Field(min_length=2, max_length=2)] = Field(description="Speculating and baseline pods.")
