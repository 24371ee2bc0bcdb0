"""Secrets are found by name and by shape; what only looks like one stays."""

import pytest
import yaml
from typer.testing import CliRunner

from specdec_command.cli.commands import application
from specdec_command.importing.secrets import HIDDEN, hidden, masked, secrets_in

LONG = "Zm9vYmFyQmF6cXV4MTIzNDU2Nzg5MGFiY0RFRkdISUpLTE1OT1A="


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ({"args": ["--api-key", "short1"]}, "short1"),
        ({"args": ["--api-key=short1"]}, "short1"),
        ({"args": ["vllm serve x --hf-token abcdef"]}, "abcdef"),
        ({"args": ['--kv-transfer-config={"redis_password": "opensesame"}']}, "opensesame"),
        ({"args": ["docker run -e HF_TOKEN=abcdef image"]}, "abcdef"),
        ({"env": [{"name": "DB_PASSWORD", "value": "opensesame"}]}, "opensesame"),
        ({"env": [{"name": "NOTE", "value": "Authorization: Bearer opensesame1"}]}, "opensesame1"),
        ({"annotations": {"proxy": "https://me:opensesame@proxy.example"}}, "opensesame"),
        ({"env": [{"name": "A", "value": "AccountName=x;AccountKey=opensesame=="}]}, "opensesame=="),
        (
            {"env": [{"name": "SENTRY_DSN", "value": "https://opensesame@o1.example/4"}]},
            "https://opensesame@o1.example/4",
        ),
        ({"env": [{"name": "OTEL_EXPORTER_OTLP_HEADERS", "value": "x-team=opensesame"}]}, "x-team=opensesame"),
        ({"annotations": {"repo": "https://0123456789abcdef01234@git.example/x"}}, "0123456789abcdef01234"),
        ({"env": [{"name": "DB", "value": "postgres://me:open@sesame@db/x"}]}, "open@sesame"),
        ({"env": [{"name": "BLOB", "value": "https://x.example/m?sv=1&sig=open%2Bsesame&x=1"}]}, "open%2Bsesame&x=1"),
        ({"args": ["curl -H 'authorization: opensesame' x"]}, "opensesame"),
        *(
            ({"args": [f"x {shape} y"]}, shape)
            for shape in (
                *(
                    "hf_AbCdEfGhIjKlMnOp",
                    "sk-proj-abcdefgh12345678",
                    "AKIAIOSFODNN7EXAMPLE",
                    "ghp_abcdefghijklmnop1234",
                ),
                *("gsk_abcdefghijklmnop12", "hooks.slack.com/services/T0ABC/B0ABC/abcdefghijkl"),
                *("glpat-abcdefghijkl1234", "nvapi-abcdefgh1234", "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM", LONG),
            )
        ),
    ],
)
def test_a_secret_is_found_and_hidden(value: object, secret: str) -> None:
    """In flags, scripts, JSON, variables, headers and URLs."""
    found = frozenset(secrets_in(value))
    assert secret in found
    assert hidden(f"before {secret} after", found) == f"before {HIDDEN} after"


@pytest.mark.parametrize(
    "value",
    [
        {"args": ["--tokenizer=acme/chat", "--max-num-batched-tokens=4096", "--spec-tokens", "4"]},
        {"args": ["--api-key=$(KEY)", "--ssl-keyfile=/etc/tls/key.pem"]},
        {"args": ['--speculative-config={"model":"/mnt/models/RedHatAI/Llama-3.1-8B-Instruct-speculator.eagle3"}']},
        {"image": "registry.example/vllm@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
        {"args": ["--allowed-headers", '["*"]', "--served-model-name=signature-v1"]},
        {"image": "registry.example:5000/vllm@sha256:0123", "annotations": {"mail": "http://host:80/path?to=a@b.c"}},
        {"tolerations": [{"key": "nvidia.com/gpu"}], "topologyKey": "kubernetes.io/hostname"},
        {"env": [{"name": "ENABLE_AUTH", "value": "true"}, {"name": "TLS_KEY", "value": "/etc/tls/key.pem"}]},
        {"env": [{"name": "T", "valueFrom": {"secretKeyRef": {"name": "hugging-face", "key": "token"}}}]},
        {"storageUri": "hf://meta-llama/Meta-Llama-3.1-70B-Instruct:0e9e39f249a16976918f6564b8830bc894c89659"},
    ],
)
def test_names_paths_and_references_are_not_secrets(value: object) -> None:
    """A digest, a model's name and a reference to a Secret stay readable."""
    assert list(secrets_in(value)) == []


@pytest.mark.parametrize(
    "words", [["--api-key", "opensesame"], ["--hf-token=opensesame"], ["--my-password=opensesame"]]
)
def test_a_secret_of_a_command_line_is_not_copied_or_printed(words: list[str]) -> None:
    """The output has a comment for it, and the exit code is 3."""
    result = CliRunner().invoke(application(), ["import", "--", "vllm", "serve", "acme/chat", *words])
    assert result.exit_code == 3
    assert "opensesame" not in result.output
    assert f"# NOT CARRIED OVER: {words[0].partition('=')[0]}" in result.stdout


def test_a_secret_in_a_refusal_is_not_printed() -> None:
    """The reason why there is no service does not show it."""
    model = {"args": ["--nnodes=2", "--api-key=opensesame"], "env": [{"name": "X_TOKEN", "value": "opensesame"}]}
    body = {"kind": "InferenceService", "spec": {"predictor": {"model": model}}}
    result = CliRunner().invoke(application(), ["import", "-"], input=yaml.safe_dump(body))
    assert result.exit_code == 1
    assert "opensesame" not in result.output


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("postgres://u:pw1@h/pw1", f"postgres://u:{HIDDEN}@h/pw1"),
        ("a --token=x --port=8", f"a --token={HIDDEN} --port=8"),
        ("Authorization: Bearer token=opensesame1", f"Authorization: Bearer {HIDDEN}"),
        ("no secret", "no secret"),
    ],
)
def test_a_short_secret_is_taken_out_where_it_stands(text: str, left: str) -> None:
    """The same letters elsewhere stay, because a short text may stand anywhere."""
    assert masked(text) == left


@pytest.mark.parametrize(
    "words",
    [
        ["docker", "run", "-e", "PG=postgres://u:pw1@h/x", "vllm/vllm-openai", "--model", "acme/chat"],
        ["curl -H 'Authorization: Bearer pw1opensesame' https://x.example && vllm serve acme/chat"],
    ],
)
def test_no_service_and_no_error_shows_a_secret_of_a_command_line(words: list[str]) -> None:
    """However short it is, and whether the line is imported or not."""
    result = CliRunner().invoke(application(), ["import", "--", *words])
    assert "pw1" not in result.stdout + result.stderr
    assert HIDDEN in result.stdout + result.stderr
