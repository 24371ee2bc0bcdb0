"""What the watches told of a service: its InferenceService, Deployment, pods, Jobs and artifacts. Pure."""
