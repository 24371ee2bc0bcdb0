"""The SpeculativeInferenceService as users write it, and what its status is made of."""
