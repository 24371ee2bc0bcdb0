"""The operator with many services, on a real etcd and kube-apiserver: what it takes, and how that grows.

Everything that is not the operator or the API server is a stand-in and says so: KServe's controller with the kubelet
(`kserve_standin_many.py`) and the engines' pages (`engines_standin.py`).
"""
