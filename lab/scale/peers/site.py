"""The site of a peer: an API server for this peer alone, with its audit log, and an account that may do everything."""

import pathlib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field

from kubernetes.aio import client, config
from tests.wire.api import APPLY, Api, Object
from tests.wire.install import install, operator_kubeconfig
from tests.wire.server import api_server

from lab.scale.audit import Audit
from lab.scale.peers.row import writes_of
from lab.scale.stage import pid_of

NAMESPACE = "fleet"
_ACCOUNT, _OF = "peer", "specdec-system"
_USER = f"system:serviceaccount:{_OF}:{_ACCOUNT}"
_RBAC = "rbac.authorization.k8s.io"


@dataclass(kw_only=True)
class Site:
    """The API server as its administrator uses it. own: the peer's kubeconfig; apiserver: a process id."""

    api: Api
    connection: client.ApiClient
    admin: pathlib.Path
    own: pathlib.Path
    folder: pathlib.Path
    apiserver: int
    audit: Audit
    _read: int = field(default=0, init=False)

    def wrote(self) -> Counter[str]:
        """What the peer wrote since this was asked last."""
        with self.audit.log.open("rb") as handle:
            handle.seek(self._read)
            lines = handle.read().rpartition(b"\n")[0]
        self._read += len(lines) + 1
        return writes_of(lines.decode().splitlines(), _USER)


@asynccontextmanager
async def site_of(folder: pathlib.Path) -> AsyncIterator[Site]:
    """A site for the length of the block, with the CRDs of the operator and of KServe and an empty namespace."""
    audit = Audit(folder)
    with ExitStack() as programs:
        admin = programs.enter_context(api_server(folder, *audit.flags()))
        settings = client.Configuration()
        await config.load_kube_config(str(admin), client_configuration=settings)
        async with client.ApiClient(settings) as connection:
            api = Api(connection)
            await install(api)
            await api.create_namespace(NAMESPACE)
            own = await peer_kubeconfig(api, admin, folder / "peer.kubeconfig")
            yield Site(
                api=api,
                connection=connection,
                admin=admin,
                own=own,
                folder=folder,
                apiserver=pid_of("kube-apiserver", folder),
                audit=audit,
            )


async def peer_kubeconfig(api: Api, admin: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    """A kubeconfig of an account that may do everything: what a peer may do is not measured."""
    account = {"kind": "ServiceAccount", "name": _ACCOUNT, "namespace": _OF}
    role = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "cluster-admin"}
    binding: Object = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": _ACCOUNT}}
    binding |= {"roleRef": role, "subjects": [account]}
    made: Object = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _ACCOUNT}}
    for path, body in (
        (Api.path(("v1", "serviceaccounts"), _OF, _ACCOUNT), made),
        (f"/apis/{_RBAC}/v1/clusterrolebindings/{_ACCOUNT}", binding),
    ):
        await api.call("patch", path, body, content_type=APPLY, field_manager="peers")
    return await operator_kubeconfig(api, admin, target, account=_ACCOUNT)
