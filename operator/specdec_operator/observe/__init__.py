"""What the watches reported of a service: its InferenceService, Deployment, pods, Jobs and artifacts. Pure."""
