"""The schemes of artifacts: which are served, and what to write instead of the others."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SERVED: Final = "pvc://, hf://, s3://, gs://, https://, oci:// and oci+native://"

UNSERVED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "http": "whoever is on the line could change the weights; use https://",
        "file": "a pod has no files before it starts; put the model into a claim (pvc://) or an image (oci://)",
        "hostpath": "pods may move to another node; put the model into a claim (pvc://) or an image (oci://)",
        "hdfs": f"KServe could download it, this operator never tried; copy the model to one of {SERVED}",
        "webhdfs": f"KServe could download it, this operator never tried; copy the model to one of {SERVED}",
        "modelscope": f"only KServe 0.21 downloads it, and nobody tried; copy the model to one of {SERVED}",
        "ms": f"only KServe 0.21 downloads it, and nobody tried; copy the model to one of {SERVED}",
        "oci+modelcar": "write oci://: whether it is a Modelcar says KServe's ConfigMap",
        "oci+fetch": "write oci://: whether it is fetched says KServe's ConfigMap (ociModelMode)",
        "docker": "write oci://IMAGE:TAG",
        "huggingface": "write hf://OWNER/MODEL",
        "s3a": "write s3://BUCKET/FOLDER",
        "s3n": "write s3://BUCKET/FOLDER",
        "gcs": "write gs://BUCKET/FOLDER",
        "az": "write https://ACCOUNT.blob.core.windows.net/CONTAINER/FOLDER",
        "azure": "write https://ACCOUNT.blob.core.windows.net/CONTAINER/FOLDER",
        "abfs": "write https://ACCOUNT.blob.core.windows.net/CONTAINER/FOLDER",
        "abfss": "write https://ACCOUNT.blob.core.windows.net/CONTAINER/FOLDER",
        "wasbs": "write https://ACCOUNT.blob.core.windows.net/CONTAINER/FOLDER",
    }
)
"""Scheme, and what its users should do."""
