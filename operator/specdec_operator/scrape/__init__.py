"""The pods' counters: read from the pods or from Prometheus."""
