"""A real Kubernetes cluster on one machine: kind where a container engine runs, else one node of our own."""
