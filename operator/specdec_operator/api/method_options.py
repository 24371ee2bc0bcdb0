"""The parts of spec.speculation that one method or another has: its draft, its look-up, its schedule."""

from typing import Annotated

from pydantic import Field

from specdec_engine.methods import MOST_TOKENS, SUFFIX_TREE_DEPTH
from specdec_operator.api.types import Folder, Name, Part, Quantity, Uri, rule, rules


class Draft(Part):
    """The model or head that guesses. Without `uri` it lies in the target's artifact, under `path`.

    With neither, for mtp and dspark, it is in the target's own weights.
    """

    uri: Uri | None = Field(
        None, description="Where the draft lies, as model.uri. Absent: in the target's artifact, under path."
    )
    path: Folder | None = Field(None, description="Folder inside the artifact that holds the draft's config.json.")
    tensor_parallel_size: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        None, description="Devices the draft is split over: 1 or the target's. Default: the target's."
    )
    quantization: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="Quantization method of the draft's weights. Default: what its config.json says."
    )
    max_model_len: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Longest sequence for which the draft guesses, in tokens."
    )
    size: Quantity | None = Field(None, description="Bytes of the draft's weights, such as 2Gi, for the memory plan.")


class Ngram(Part):
    """How many of the last tokens are looked up in the text so far."""

    model_config = rules(rule("self.lookupMin <= self.lookupMax", "lookupMin must be <= lookupMax", ".lookupMin"))

    lookup_min: Annotated[int, Field(ge=1, le=MOST_TOKENS)] = Field(2, description="Shortest match, in tokens.")
    lookup_max: Annotated[int, Field(ge=1, le=MOST_TOKENS)] = Field(5, description="Longest match, in tokens.")


class Suffix(Part):
    """Look-up in suffix trees of the text so far and of earlier answers."""

    max_tree_depth: Annotated[int, Field(ge=1, le=MOST_TOKENS)] = Field(
        SUFFIX_TREE_DEPTH, description="Longest match plus guess, in tokens; also K where tokens is left out."
    )
    max_cached_requests: Annotated[int, Field(ge=0, le=10_000_000)] = Field(
        10_000, description="Earlier answers that are remembered, in requests; 0 remembers none."
    )
    max_spec_factor: Annotated[float, Field(ge=0, le=1024)] = Field(
        1.0, description="Tokens guessed per matched token, at most."
    )
    min_token_prob: Annotated[float, Field(ge=0, le=1)] = Field(
        0.1, description="Share of earlier texts that must have gone on with a token for it to be guessed."
    )


class BatchStep(Part):
    """One row of tokensByBatchSize."""

    up_to: Annotated[int, Field(ge=1, le=65_536)] | None = Field(
        None, description="Largest number of running requests that this row is for. The last row may leave it out."
    )
    tokens: Annotated[int, Field(ge=0, le=MOST_TOKENS)] = Field(description="K for this load; 0 guesses nothing.")


class HiddenStates(Part):
    """What extract_hidden_states writes, and where: training data for a draft, no speed-up."""

    layers: Annotated[list[Annotated[int, Field(ge=0, le=1024)]], Field(min_length=1, max_length=64)] = Field(
        description="Layers of the target whose hidden states are written."
    )
    connector: Name = Field("ExampleHiddenStatesConnector", description="KV connector that writes them.")
    path: Annotated[str, Field(max_length=512, pattern="^/")] = Field(
        description="Folder in the pod that the connector writes to; mount a volume there (pod.volumes)."
    )


class AscendRejection(Part):
    """vllm-ascend's own verification. Both ways are lossy: answers differ from the target's own distribution."""

    block_verify: bool = Field(False, description="Accept the longest prefix by joint probability. Lossy on NPUs.")
    entropy_verify: bool = Field(False, description="Accept more where the target itself is unsure. Lossy.")
    posterior_threshold: Annotated[float, Field(gt=0, le=1)] = Field(
        0.95, description="Cap of the acceptance test of entropyVerify; only 1 with posteriorAlpha 0 is lossless."
    )
    posterior_alpha: Annotated[float, Field(ge=0)] = Field(
        0.4, description="Weight of the entropy in entropyVerify; larger accepts more."
    )
