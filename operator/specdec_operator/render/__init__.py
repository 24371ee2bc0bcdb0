"""From a plan to the manifest of the InferenceService. Pure."""
