"""How vLLM runs, and how much of the device's memory it may use."""

from typing import Annotated, Final

from pydantic import Field

from specdec_engine.accelerators import Accelerator
from specdec_operator.api.canonical import CameWith
from specdec_operator.api.security import ContainerSecurity
from specdec_operator.api.types import Duration, Free, Name, Part, Quantity, Text, rule, rules
from specdec_operator.engine.flags import OWNED_FLAGS
from specdec_operator.engine.instrument import Instrument
from specdec_operator.engine.quantity import MEMORY, NUMBER

_Size = Annotated[int, Field(ge=1, le=4096)]
_VERSION = r"^v?[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?(\.?(post|rc)[0-9]{1,3})?$"
_RESERVE = f"^(Auto|Counted|None|{NUMBER}%|{MEMORY})$"


_PORT: Final = rule(
    "!has(self.port) || has(self.runtime)",
    "the operator's runtimes listen on 8080: leave it out, or name a runtime of your own in runtime",
    ".port",
)


class Engine(Part):
    """How vLLM runs."""

    model_config = rules(_PORT)

    accelerator: Accelerator = Field(Accelerator.NVIDIA, description="nvidia, ascend or cpu.")
    version: Annotated[str, Field(max_length=32, pattern=_VERSION)] | None = Field(
        None,
        description="Engine version inside the image, such as 0.32.0 (for ascend: of vllm-ascend). "
        "Default: that of this release's image. Rules and flags follow it.",
    )
    runtime: Name | None = Field(
        None,
        description="ServingRuntime or ClusterServingRuntime to use. Default: that of the accelerator, as installed.",
    )
    image: Annotated[str, Field(max_length=512)] | None = Field(
        None, description="Image of the engine's container. Default: the runtime's."
    )
    port: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        None, description="Port that the engine listens on, of a runtime of your own. Default: 8080."
    )
    instrument: Annotated[Instrument, CameWith("Auto")] = Field(
        Instrument.AUTO,
        description="How preflight, startup proof, drain and reports of ends come into the pods: Image (the image has "
        "them), Inject (an init container of the operator's image brings them), None (the pods go without), or Auto: "
        "Image for the operator's images, Inject for another image, None for another runtime.",
    )
    tensor_parallel_size: _Size | None = Field(None, description="Devices that one copy of each layer is split over.")
    pipeline_parallel_size: _Size | None = Field(None, description="Groups of devices that hold the layers in turn.")
    data_parallel_size: _Size | None = Field(None, description="Copies of the engine in one pod.")
    max_model_len: Annotated[int, Field(ge=1)] | None = Field(None, description="Longest sequence, in tokens.")
    max_num_seqs: Annotated[int, Field(ge=1)] | None = Field(None, description="Most requests in one batch.")
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None,
        description="Share of the device's memory that vLLM may use. Default: the engine's own; with speculation on "
        "NPUs 0.9 at most.",
    )
    start_timeout: Duration | None = Field(
        None,
        description="Longest time of one start of the engine, its artifacts being there; then the kubelet starts it "
        "anew. Default: 30m.",
    )
    enforce_eager: bool = Field(False, description="Run without graph capture: slower, but starts sooner.")
    args: Annotated[list[Text], Field(max_length=64)] | None = Field(
        None,
        description="Further vLLM flags, one `--flag=value` each.",
        json_schema_extra={
            "x-kubernetes-validations": [
                rule(
                    f"!self.exists(a, {list(OWNED_FLAGS)}.exists(f, a == f || a.startsWith(f + '=')))",
                    f"these flags have fields in the spec or are the operator's: {', '.join(OWNED_FLAGS)}",
                )
            ]
        },
    )
    env: Annotated[list[Free], Field(max_length=64)] | None = Field(
        None, description="Environment of the engine's container."
    )
    security_context: ContainerSecurity | None = Field(
        None, description="As whom the engine's container runs, over what its runtime says."
    )


class Memory(Part):
    """What the memory plan starts from. What an engine counts by itself is not subtracted twice."""

    device: Quantity | None = Field(
        None,
        description="Memory of one device, such as 80Gi. Default: what the nodes, the resources or a product's name "
        "tell; on a CPU the container's memory limit.",
    )
    draft_reserve: Annotated[str, Field(max_length=32, pattern=_RESERVE)] = Field(
        "Auto",
        description="By how much --gpu-memory-utilization is lowered for the draft: Auto (what speculation adds "
        "and the engine does not count, at the upper end of each estimate, 0.02 at least; 0.05 where the device or the "
        "models are not known), Counted (only what does not fit beside), None, a share of the device such as 6%, or "
        "bytes such as 2Gi.",
    )
