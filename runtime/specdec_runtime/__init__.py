"""The entry point of the runtime image: look at the models, start vLLM, prove that it generates."""
