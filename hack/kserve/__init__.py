"""The real KServe controller on this machine: built from its Go module, installed as its own manifests say."""
