"""The SpeculativeInferenceService as users write it, and the CRD generated from it."""
