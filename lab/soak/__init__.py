"""Half an hour of churn, and whether anything is left of it: tasks, sockets, series, objects, memory, decisions.

Real etcd, kube-apiserver and kube-controller-manager, the operator as a process. Beside them a
maker of Deployments, which is not KServe (`deployments_maker.py`), and the engines' pages (`engines_standin.py`).
"""
