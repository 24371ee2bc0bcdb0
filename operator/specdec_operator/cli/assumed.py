"""A KServe that the command line names, where no cluster is asked."""

from specdec_operator.staging.kserve import KServe


def assumed_kserve(version: str | None) -> KServe | None:
    """A KServe of which nothing but the version is known. Raises ValueError for what is no version."""
    if version is None:
        return None
    from specdec_operator.staging.detected import version_of  # noqa: PLC0415 - most runs name no version

    known = version_of(version)
    if known is None:
        raise ValueError(f"--kserve {version}: no version; write one such as 0.20")
    return KServe(version=known, seen=f"--kserve {version}")
