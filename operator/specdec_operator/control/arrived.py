"""Whether the artifacts of a wish are there, asked of the cluster's Events where the pods are silent."""

from specdec_operator.cluster import Cluster
from specdec_operator.control.wish import Wish
from specdec_operator.serving.arrival import Arrival, is_idle


async def arrival_of(cluster: Cluster, namespace: str, wish: Wish) -> Arrival:
    """Whether they are there. Raises Unavailable where the API server does not answer."""
    found = wish.arrival()
    silent = next((pod for pod in wish.pods if is_idle(pod)), None)
    if silent is None or found.status != "Unknown":
        return found
    about = f"involvedObject.name={silent.name},type=Warning"
    events = await cluster.read(f"/api/v1/namespaces/{namespace}/events", field_selector=about)
    return wish.arrival((events or {}).get("items", ()))
