"""The platforms that the kubectl plugin is packed for, and the Pythons that it runs on there."""

from dataclasses import dataclass
from typing import Final

PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """An operating system and an architecture as kubectl's plugins name them, and as uv does."""

    os: str
    arch: str
    target: str

    @property
    def name(self) -> str:
        """Such as linux_amd64."""
        return f"{self.os}_{self.arch}"


PLATFORMS: Final = (
    Platform(os="linux", arch="amd64", target="x86_64-manylinux_2_28"),
    Platform(os="linux", arch="arm64", target="aarch64-manylinux_2_28"),
    Platform(os="darwin", arch="amd64", target="x86_64-apple-darwin"),
    Platform(os="darwin", arch="arm64", target="aarch64-apple-darwin"),
)
