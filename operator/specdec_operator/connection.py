"""How the operator reaches its API server: as the pod's service account, or else as KUBECONFIG says."""

from kubernetes.aio import client, config

from specdec_operator import __version__


async def connection() -> client.ApiClient:
    """A connection of its own; whoever asks for it closes it."""
    try:
        config.load_incluster_config()
    except config.ConfigException:
        await config.load_kube_config()
    api = client.ApiClient()
    api.user_agent = f"specdec-operator/{__version__}"
    return api
