"""An engine image as another publisher builds it: vLLM runs as root, and the image contains nothing of this project."""

import pathlib
import subprocess
import tempfile

from hack import images
from hack.cluster import images as node
from hack.images import build, content, delivery, tool

_ENGINE = "localhost/stock-vllm-engine"
_RECIPE = """\
FROM {engine}
ENV PATH=/opt/engine/bin:/usr/local/bin:/usr/bin:/bin VLLM_CACHE_ROOT=/opt/vllm-cache
ENTRYPOINT ["python3", "-m", "vllm.entrypoints.cli.main", "serve"]
"""


def image() -> str:
    """Puts the image onto the node if the node lacks it; returns its name. Its layers are those of our own image."""
    tag = images.refs().runtime.rpartition("-")[2]
    ref = f"localhost/stock-vllm:{tag}"
    if not node.has(ref):
        builder = tool.choose()
        engine = f"{_ENGINE}:{tag}"
        base = {"BASE_IMAGE": build.foundation(builder)}
        _run(builder.build("Dockerfile.runtime", "cpu-engine", engine, base), content.ROOT)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "Dockerfile").write_text(_RECIPE.format(engine=engine))
            _run(builder.build("Dockerfile", None, ref, {}), pathlib.Path(folder))
        delivery.load(builder, ref)
    return ref


def _run(command: list[str], folder: pathlib.Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
