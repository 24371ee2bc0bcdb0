"""One replica works, the others stand by: `lead` runs the operator while this replica holds the Lease."""

import asyncio

from kubernetes.aio.leaderelection.electionconfig import Config
from kubernetes.aio.leaderelection.leaderelection import LeaderElection

from specdec_operator.leadership.holding import Tell, Work, connection, work_while_held
from specdec_operator.leadership.lease import DURATION, RENEW_DEADLINE, RETRY, Lease
from specdec_operator.leadership.share import all_services
from specdec_operator.settings import Settings


async def lead(settings: Settings, work: Work, stop: asyncio.Event, *, identity: str) -> None:
    """Stands by until the Lease is this replica's, then works until `stop` is set.

    identity: a name of this replica; it is made unique here.
    """
    api, identity = await connection(identity)
    namespace, name = settings.leader_lease
    await work_while_held(api, Leader(Lease(namespace, name, identity, api)), work, stop)


class Leader:
    """One Lease for all services. See Holder."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self.held = lease.held
        self.give_back = lease.release
        self.ready = asyncio.Event()
        self.share = all_services(lease.held)

    @property
    def name(self) -> str:
        """What is held, for the log."""
        return f"the Lease {self._lease.namespace}/{self._lease.name} as {self._lease.identity}"

    async def keep(self, tell: Tell) -> None:
        """Takes part in the election; ends when the Lease is lost."""

        async def begin() -> None:
            tell(self.ready)

        await LeaderElection(
            Config(
                self._lease,
                lease_duration=DURATION,
                renew_deadline=RENEW_DEADLINE,
                retry_period=RETRY,
                onstarted_leading=begin,
                onstopped_leading=_nothing,
            )
        ).run()


async def _nothing() -> None:
    """The process ends anyway."""
