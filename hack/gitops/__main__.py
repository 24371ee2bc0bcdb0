"""`python -m hack.gitops` writes the patch of argocd-cm; with `verify` it fails where that is stale; with `build` it
builds Flux's controllers and Argo CD's code into the cache (with nothing cached, a quarter of an hour on two cores).
"""

import sys

from hack.cluster.errors import ClusterError
from hack.gitops import argocd, programs


def main(words: list[str]) -> int:
    """Exit code 1 where the file is not what the Lua files make of it, or where a program cannot be built."""
    if words == ["build"]:
        return _build()
    if words == ["verify"]:
        stale = not argocd.PATCH.exists() or argocd.PATCH.read_text() != argocd.patch()
        if stale:
            print(f"{argocd.PATCH} is stale: run `python -m hack.gitops` and commit the result.", file=sys.stderr)
        return int(stale)
    argocd.PATCH.write_text(argocd.patch())
    return 0


def _build() -> int:
    try:
        for module in (programs.FLUX, programs.ARGO):
            for name in module.packages:
                programs.ensure(module, name)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
