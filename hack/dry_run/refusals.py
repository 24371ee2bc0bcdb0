"""What must not pass: others in the place of our images, charts and files, another signer, an absent digest."""

import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hack.cluster.errors import ClusterError
from hack.dry_run.keys import Key
from hack.dry_run.registry import start_something_else
from hack.release import chart, pushed
from hack.release.pushed import Pushed, ReleaseRefused
from hack.release.ship import Release

_UNSIGNED = "no signatures found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """Tries each, and changes what was pushed for it. folder: to work in. Raises ClusterError where one is accepted."""

    key: Key
    release: Release
    folder: pathlib.Path
    say: Callable[[str], None]

    def check(self, made: Pushed, wheel: pathlib.Path) -> None:
        """Try all of them. made: the chart."""
        self._registry(made)
        bundle = wheel.with_name(f"{wheel.name}.sigstore.json")
        with wheel.open("ab") as file:
            file.write(b"x")
        changed = "artifact digests do not match"
        self._refused("a wheel with one more byte", changed, lambda: self.key.verify_file(wheel, bundle))
        (self.release.images / "cpu.txt").unlink()
        missing = "no cpu.txt: the chart names these images; push them first"
        out = self.folder / "incomplete"
        self._refused("a chart without an image's digest", missing, lambda: self.release.ship_chart(out))

    def _registry(self, made: Pushed) -> None:
        """What a user with write access to the registry can do."""
        key, helm = self.key, self.release.helm
        every = pushed.read(self.release.images, self.release.without)
        ours = every["operator"]
        stranger = Key(program=key.program, folder=self.folder, name="stranger").make()
        other_key = "accepted signatures do not match"
        self._refused("our image, by another's key", other_key, lambda: stranger.verify(ours.name))
        changed = start_something_else(ours)
        same_tag = "an image with another entry point under the same tag"
        self._refused(same_tag, _UNSIGNED, lambda: key.verify(changed.tagged))
        other = chart.package(every | {"operator": changed}, self.folder, helm=helm)
        chart.push(other, made.registry.removesuffix("/charts"), "--plain-http", helm=helm)
        same_version = "a chart with that image under the same version"
        self._refused(same_version, _UNSIGNED, lambda: key.verify(made.tagged))
        key.verify(ours.name)
        key.verify(made.name)
        self.say("verified  by digest, image and chart are still the signed ones")

    def _refused(self, what: str, why: str, act: Callable[[], Any]) -> None:
        try:
            act()
        except ReleaseRefused as error:
            if why not in str(error):
                raise ClusterError(
                    f"{what}: it should have been refused with {why!r}, and was with: {error}"
                ) from error
            self.say(f"refused   {what}: {why}")
        else:
            raise ClusterError(f"{what} was accepted: what a user verifies does not protect")
