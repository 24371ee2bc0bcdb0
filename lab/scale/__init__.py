"""The operator with many services, on a real etcd and kube-apiserver: what it takes, and how that grows.

Beside the operator and the API server there is a maker of Deployments, which is not KServe (`deployments_maker.py`),
and a server of the engines' pages (`engines_standin.py`).
"""
