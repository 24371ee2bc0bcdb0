"""specdec_runtime.launch: what becomes of the process, and what it leaves for prove."""

import json
import os
import subprocess
import sys
from pathlib import Path

from specdec_runtime import launch
from tests.unit import runtime_models as models


def test_serve_becomes_vllm_with_the_flags_as_they_came(tmp_path: Path) -> None:
    """A stand-in of vLLM's server module prints what it was started with; the process must be the same one."""
    package = tmp_path / "vllm" / "entrypoints" / "openai"
    package.mkdir(parents=True)
    (package / "api_server.py").write_text("import json, os, sys\nprint(json.dumps([os.getpid(), sys.argv[1:]]))\n")
    target, draft = models.write(tmp_path / "target"), models.write(tmp_path / "draft")
    speculation = json.dumps({"method": "draft_model", "model": str(draft), "num_speculative_tokens": 4})
    flags = [f"--model={target}", "--speculative-config", speculation, "--port=8080", "--enforce-eager"]
    search = os.pathsep.join((str(tmp_path), str(Path(launch.__file__).parents[1])))
    started = subprocess.Popen(
        [sys.executable, "-m", "specdec_runtime", "serve", *flags],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": search, "TMPDIR": str(tmp_path)},
    )
    out, _ = started.communicate(timeout=30)
    said, last = out.splitlines()
    assert json.loads(last) == [started.pid, flags]
    assert said.startswith("specdec: start method=draft_model")
    assert json.loads((tmp_path / "specdec-plan.json").read_text()) == {"method": "draft_model", "tokens": 4}
