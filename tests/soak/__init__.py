"""Half an hour of churn, and whether anything is left of it: tasks, sockets, series, objects, memory, decisions.

Real etcd, kube-apiserver and kube-controller-manager, the operator as a process. Stand-ins, by name: KServe's
controller with the kubelet (`kserve_standin.py`) and the engines' pages (`engines_standin.py`).
"""
