"""The real KServe controller on this machine: built from its Go module, installed with its own manifests."""
