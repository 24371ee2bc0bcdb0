"""From a plan to manifests, and from Deployment and pods to what a rollout looks like. Pure."""
