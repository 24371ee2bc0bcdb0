"""An existing InferenceService that is only guarded: its flags, its pods, and the patch that ends its speculation."""
