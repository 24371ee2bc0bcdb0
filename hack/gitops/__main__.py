"""`python -m hack.gitops` writes the patch of argocd-cm; with `verify` it fails where that is stale; with `build` it
builds Flux's controllers and Argo CD's code into the cache (with nothing cached, a quarter of an hour on two cores).
"""

from hack.command import generate, run
from hack.gitops import argocd, programs


def main(words: list[str]) -> int:
    """Exit code 1 where the file is not what the Lua files make of it, or where a program cannot be built."""
    if words != ["build"]:
        return generate({argocd.PATCH: argocd.patch()}, words)
    for module in (programs.FLUX, programs.ARGO):
        for name in module.packages:
            programs.ensure(module, name)
    return 0


if __name__ == "__main__":
    run(main)
