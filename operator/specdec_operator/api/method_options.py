"""The parts of spec.speculation that one method or another has: its draft, its look-up, its schedule."""

from typing import Annotated

from pydantic import Field

from specdec_engine.methods import MOST_TOKENS, SUFFIX_TREE_DEPTH
from specdec_operator.api.types import Folder, Name, Part, Quantity, Uri, rule, rules


class Draft(Part):
    """The model or head that guesses. Without `uri` it is in the target's artifact, under `path`.

    Without both, for mtp and dspark, it is in the target's own weights.
    """

    uri: Uri | None = Field(
        None,
        description=("Location of the draft, in the form of model.uri. Absent: in the target's artifact, under path."),
    )
    path: Folder | None = Field(None, description="Folder inside the artifact with the draft's config.json.")
    tensor_parallel_size: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        None,
        description=(
            "Number of devices over which the draft is split: 1 or the target's number. Default: the target's number."
        ),
    )
    quantization: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="Quantization method of the draft's weights. Default: from its config.json."
    )
    max_model_len: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Maximum sequence length for which the draft guesses, in tokens."
    )
    size: Quantity | None = Field(None, description="Size of the draft's weights, such as 2Gi, for the memory plan.")


class Ngram(Part):
    """The number of last tokens that the method searches for in the text so far. Absent: 5, as the engine has it."""

    model_config = rules(
        rule(
            "self.lookupMin <= self.lookupMax || (self.lookupMin == 2 && self.lookupMax == 1)",
            "lookupMin must be <= lookupMax; a number that is not set is 2 for lookupMin, 5 for lookupMax",
            ".lookupMin",
        )
    )

    lookup_min: Annotated[int, Field(ge=1, le=MOST_TOKENS)] = Field(
        2, description="Shortest match, in tokens. If lookupMax is 1, it is 1."
    )
    lookup_max: Annotated[int, Field(ge=1, le=MOST_TOKENS)] = Field(5, description="Longest match, in tokens.")


class Suffix(Part):
    """Settings of the suffix trees of the text so far and of earlier answers."""

    max_tree_depth: Annotated[int, Field(ge=1, le=MOST_TOKENS)] = Field(
        SUFFIX_TREE_DEPTH,
        description=("Maximum length of match plus guess, in tokens. It is also K if tokens is not set."),
    )
    max_cached_requests: Annotated[int, Field(ge=0, le=10_000_000)] = Field(
        10_000, description="Number of requests whose answers are cached; 0: no cache."
    )
    max_spec_factor: Annotated[float, Field(ge=0, le=1024)] = Field(
        1.0, description="Maximum number of guessed tokens per matched token."
    )
    min_token_prob: Annotated[float, Field(ge=0, le=1)] = Field(
        0.1, description="Minimum share of earlier texts that continued with a token. Tokens below it are not guessed."
    )


class BatchStep(Part):
    """One row of tokensByBatchSize."""

    up_to: Annotated[int, Field(ge=1, le=65_536)] | None = Field(
        None, description="Largest number of running requests for this row. Optional in the last row."
    )
    tokens: Annotated[int, Field(ge=0, le=MOST_TOKENS)] = Field(description="K for this load; 0: no guesses.")


class HiddenStates(Part):
    """The output of extract_hidden_states: training data for a draft. It gives no speedup."""

    layers: Annotated[list[Annotated[int, Field(ge=0, le=1024)]], Field(min_length=1, max_length=64)] = Field(
        description="Layers of the target whose hidden states the engine writes."
    )
    connector: Name = Field("ExampleHiddenStatesConnector", description="KV connector that writes them.")
    path: Annotated[str, Field(max_length=512, pattern="^/")] = Field(
        description="Folder in the pod that the connector writes to; mount a volume there (pod.volumes)."
    )


class AscendRejection(Part):
    """vllm-ascend's own verification. Both ways are lossy: answers differ from the target's own distribution."""

    block_verify: bool = Field(False, description="Accept the longest prefix by joint probability. Lossy on NPUs.")
    entropy_verify: bool = Field(False, description="Accept more guesses if the target itself is uncertain. Lossy.")
    posterior_threshold: Annotated[float, Field(gt=0, le=1)] = Field(
        0.95,
        description=("Upper limit in the acceptance test of entropyVerify. Only 1 with posteriorAlpha 0 is lossless."),
    )
    posterior_alpha: Annotated[float, Field(ge=0)] = Field(
        0.4, description="Weight of the entropy in entropyVerify. A larger weight accepts more."
    )
