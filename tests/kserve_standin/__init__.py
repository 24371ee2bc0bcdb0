"""A stand-in of KServe's controller, for machines that cannot have the real one.

It turns an InferenceService into the Deployment, Service, HorizontalPodAutoscaler and status that KServe
0.20 makes in Standard mode, as far as this project uses it. docs/kserve-stand-in.md says what is left out.
"""
