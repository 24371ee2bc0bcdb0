"""The SpeculativeInferenceService as users write it."""
