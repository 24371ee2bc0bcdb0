"""A prompt of 32,000 tokens on few cores: how long its steps are, and what the counters show meanwhile.

    python -m lab.engine.long_prompt MODELS OUT.jsonl.gz [TOKENS-A-STEP]

Runs where vLLM is. The model has random weights and the size of a small one, so that a step takes as long as on a busy
machine. Each line of the output is one reading of /metrics, in the form of `specdec replay`.
"""

import gzip
import json
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Final

from lab.engine import server

PROMPT: Final = 32_000
_LENGTH: Final = 32_768
_EVERY: Final = 5.0
_SIZE: Final = {
    "hidden_size": 1024,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "intermediate_size": 2816,
    "max_position_embeddings": _LENGTH,
}
_KEPT: Final = ("vllm:", "process_start_time_seconds")


def model(models: Path, folder: Path) -> Path:
    """Write the model: the target's configuration and tokenizer with other sizes, and no weights."""
    for each in (models / "target").iterdir():
        if "safetensors" not in each.name:
            (folder / each.name).write_bytes(each.read_bytes())
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | _SIZE), encoding="utf-8")
    return folder


def flags(folder: Path, step: int) -> list[str]:
    """Return vLLM's flags: n-gram drafts need no second model."""
    method = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4}
    return [
        *(f"--model={folder}", "--served-model-name=m", f"--max-model-len={_LENGTH}", "--enforce-eager"),
        *("--load-format=dummy", f"--max-num-batched-tokens={step}", f"--kv-cache-memory-bytes={1 << 30}"),
        *("--distributed-executor-backend=uni", f"--speculative-config={json.dumps(method)}"),
    ]


class PageReader:
    """Reads /metrics now and then, beside the requests. lines: in the form of a recording."""

    def __init__(self, engine: server.EngineServer) -> None:
        self._engine, self._begun, self._over = engine, time.monotonic(), threading.Event()
        self.lines: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> "PageReader":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _read(self) -> None:
        while True:
            at = round(time.monotonic() - self._begun, 3)
            page = [each for each in self._engine.counters().splitlines() if each.startswith(_KEPT)]
            text = "\n".join(each for each in page if "_bucket" not in each and "_created" not in each)
            self.lines.append({"t": at, "pod": "pod-0", "ok": True, "error": None, "text": f"{text}\n"})
            if self._over.wait(_EVERY):
                return


def ask(engine: server.EngineServer, tokens: int) -> float:
    """Return the seconds until the first token of a prompt of so many tokens that the engine has not seen."""
    begun = time.monotonic()
    body = {"model": "m", "prompt": [3 + (tokens * 7 + n * n) % 2000 for n in range(tokens)], "max_tokens": 1}
    engine.patience = 1800.0
    engine.ask("/v1/completions", body)
    return time.monotonic() - begun


def main(models: Path, out: Path, step: int) -> None:
    """Ask some short prompts and the long one; write the readings, and print the seconds."""
    with tempfile.TemporaryDirectory() as folder, server.started(flags(model(models, Path(folder)), step)) as engine:
        engine.must_come_up()
        with PageReader(engine) as reader:
            short = [round(ask(engine, tokens), 2) for tokens in (100, 200, 400)]
            long = round(ask(engine, PROMPT), 1)
            after = round(ask(engine, 300), 2)
    with gzip.open(out, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(each) + "\n" for each in reader.lines)
    print(json.dumps({"step": step, "short_seconds": short, "long_seconds": long, "after_seconds": after}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 8192)
