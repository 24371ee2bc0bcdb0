"""The real Helm, built for this machine, and what is written with it: the chart's CRD and manifests/."""
