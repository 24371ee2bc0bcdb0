"""How vLLM runs, and how much of the device's memory it may use."""

from typing import Annotated, Final

from pydantic import Field

from specdec_engine.accelerators import Accelerator
from specdec_engine.quantity import MEMORY, NUMBER
from specdec_operator.api.canonical import CameWith
from specdec_operator.api.security import ContainerSecurity
from specdec_operator.api.types import Duration, Free, Name, Part, Quantity, Text, rule, rules
from specdec_operator.engine.instrument import Instrument
from specdec_operator.engine.owned_flags import OWNED_FLAGS

_Size = Annotated[int, Field(ge=1, le=4096)]
_VERSION = r"^v?[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?(\.?(post|rc)[0-9]{1,3})?$"
_RESERVE = f"^(Auto|Counted|None|{NUMBER}%|{MEMORY})$"


_PORT: Final = rule(
    "!has(self.port) || has(self.runtime)",
    "the operator's runtimes listen on 8080: remove port, or set runtime to your own runtime",
    ".port",
)


class Engine(Part):
    """Settings of vLLM."""

    model_config = rules(_PORT)

    accelerator: Accelerator = Field(Accelerator.NVIDIA, description="nvidia, ascend or cpu.")
    version: Annotated[str, Field(max_length=32, pattern=_VERSION)] | None = Field(
        None,
        description="Engine version in the image, such as 0.32.0 (for ascend: the version of vllm-ascend). Rules and "
        "flags depend on it. Default: the version in this release's image.",
    )
    runtime: Name | None = Field(
        None,
        description="ServingRuntime or ClusterServingRuntime to use. Default: the installed one for the accelerator.",
    )
    image: Annotated[str, Field(max_length=512)] | None = Field(
        None, description="Image of the engine's container. Default: the runtime's."
    )
    port: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        None, description="Port of the engine in your own runtime. Default: 8080."
    )
    instrument: Annotated[Instrument, CameWith("Auto")] = Field(
        Instrument.AUTO,
        description="How the pods get preflight, startup proof, drain and exit reports: Image (the image has them), "
        "Inject (an init container with the operator's image adds them), None (the pods run without "
        "them), or Auto: Image for the operator's images, Inject for another image, None for another "
        "runtime.",
    )
    tensor_parallel_size: _Size | None = Field(None, description="Number of devices over which each layer is split.")
    pipeline_parallel_size: _Size | None = Field(
        None, description="Number of pipeline stages, which are groups of devices with consecutive layers."
    )
    data_parallel_size: _Size | None = Field(None, description="Number of engine copies in one pod.")
    max_model_len: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Maximum length of a sequence, in tokens."
    )
    max_num_seqs: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Maximum number of requests in one batch."
    )
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None,
        description="Share of the device's memory that vLLM may use. Default: the engine's own; with speculation on "
        "NPUs at most 0.9.",
    )
    start_timeout: Duration | None = Field(
        None,
        description="Maximum time for one start of the engine, after its artifacts are present. Then the kubelet "
        "restarts it. Default: 30m.",
    )
    liveness_probe: Free | None = Field(
        None,
        description="Liveness probe of the engine's container, as in Kubernetes. Default: the operator's own, which "
        "makes an engine that is silent generate a token.",
    )
    enforce_eager: bool = Field(False, description="Run without graph capture: slower, but with a faster start.")
    args: Annotated[list[Text], Field(max_length=64)] | None = Field(
        None,
        description="Additional vLLM flags, each as `--flag=value`.",
        json_schema_extra={
            "x-kubernetes-validations": [
                rule(
                    f"!self.exists(a, {list(OWNED_FLAGS)}.exists(f, a == f || a.startsWith(f + '=')))",
                    f"the operator renders these flags from fields of the spec: {', '.join(OWNED_FLAGS)}",
                )
            ]
        },
    )
    env: Annotated[list[Free], Field(max_length=64)] | None = Field(
        None, description="Environment of the engine's container."
    )
    security_context: ContainerSecurity | None = Field(
        None, description="Security context of the engine's container. It overrides that of the runtime."
    )


class Memory(Part):
    """Inputs of the memory plan. Memory that the engine counts is not subtracted twice."""

    device: Quantity | None = Field(
        None,
        description="Memory of one device, such as 80Gi. Default: detected from the nodes, the resources or a product "
        "name; on a CPU the container's memory limit.",
    )
    draft_reserve: Annotated[str, Field(max_length=32, pattern=_RESERVE)] = Field(
        "Auto",
        description="By how much --gpu-memory-utilization is lowered for the draft: Auto (the memory that speculation "
        "adds and the engine does not count, at the upper end of each estimate, at least 0.02; 0.05 if "
        "the device or the models are unknown), Counted (only the memory that does not fit outside the "
        "engine's budget), None, a share of the device such as 6%, or bytes such as 2Gi.",
    )
