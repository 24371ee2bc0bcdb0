"""Where and as whom the pods run, and how a change reaches them."""

from enum import StrEnum

from pydantic import Field

from specdec_operator.api.base import Free, Name, Part, Quantity
from specdec_operator.api.units import Duration


class Strategy(StrEnum):
    """How a change of the pods is rolled out."""

    AUTO = "Auto"
    SURGE = "Surge"
    REPLACE = "Replace"


class Pod(Part):
    """Where and as whom the pods run."""

    node_selector: dict[str, str] | None = Field(None, description="Labels that the node must carry.")
    tolerations: list[Free] | None = Field(None, description="Taints that the pods tolerate.")
    affinity: Free | None = Field(None, description="Kubernetes' affinity of the pods.")
    service_account_name: Name | None = Field(None, description="Service account of the pods.")
    image_pull_secrets: list[Free] | None = Field(None, description="Secrets for private images.")
    priority_class_name: Name | None = Field(None, description="Priority class of the pods.")
    runtime_class_name: Name | None = Field(None, description="RuntimeClass of the pods, such as nvidia.")
    shared_memory: Quantity | None = Field(
        None, description="Size of /dev/shm, which the engine's processes share. Default: the runtime's, 1Gi in ours."
    )
    labels: dict[str, str] | None = Field(None, description="Labels that are added to the pods.")
    annotations: dict[str, str] | None = Field(None, description="Annotations that are added to the pods.")


class Rollout(Part):
    """How a change reaches the pods."""

    strategy: Strategy = Field(
        Strategy.AUTO,
        description="Surge starts the new pod beside the old one and needs room for both; Replace stops it first; Auto "
        "surges, and replaces where the scheduler finds no room for a minute.",
    )
    deadline: Duration = Field(
        "30m", validate_default=True, description="Longest time for the new pods to become ready."
    )
