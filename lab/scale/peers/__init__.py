"""Two others that watch as many objects: Argo Rollouts' controller, and a plain kopf operator that we wrote."""
