"""Flags of engines from before 0.11 and of KServe's own server, in the words of today's vLLM."""

from typing import Any, Final

from specdec_command.importing.manifest import Lost
from specdec_engine.case import Json
from specdec_engine.flags import option
from specdec_operator.engine.legacy_flags import ENDED, number, todays

_LEAST_WINDOW: Final = 1
"""Of n-gram lookup in those releases, if --ngram-prompt-lookup-min is not given; today both ends are the same then."""
_SERVER: Final = frozenset(
    {
        *("backend", "task", "http_port", "grpc_port", "workers", "predictor_host", "predictor_protocol"),
        *("enable_grpc", "enable_docs_url", "enable_latency_logging", "configure_logging", "log_config_file"),
        *("access_log_format", "return_token_type_ids", "return_probabilities", "tensor_input_names"),
        *("disable_lower_case", "disable_special_tokens", "max_threads", "max_asyncio_workers"),
    }
)
"""Of KServe's Hugging Face server, python/huggingfaceserver."""


def without_a_file(args: dict[str, Any], lost: list[Lost]) -> None:
    """Takes --config out: the file is in the pod, and its content is not known here."""
    if (file := args.pop("config", None)) is not None:
        why = "a file with flags inside the pod, which this command cannot read"
        way_out = "add its flags to the command line and import again, or guard the existing service"
        lost.append(Lost(field=f"--config={file}", why=why, way_out=way_out))


def with_todays_speculation(speculation: Json | None, args: dict[str, Any], lost: list[Lost]) -> Json | None:
    """The configuration with the values of old flags, which are taken out of `args`. Ended flags are listed as lost."""
    if "ngram_prompt_lookup_max" in args:
        args.setdefault("ngram_prompt_lookup_min", _LEAST_WINDOW)
    for name in sorted(ENDED.keys() & args.keys()):
        args.pop(name)
        lost.append(Lost(field=option(name), why="engines since 0.11 do not have this flag", way_out=ENDED[name]))
    return todays(speculation, args)


def of_kserves_server(args: dict[str, Any], lost: list[Lost]) -> tuple[str | None, str | None]:
    """Served name and model that flags of KServe's own server name; its flags are taken out of `args`."""
    if "max_length" in args:
        args.setdefault("max_model_len", number(args.pop("max_length")))
    for name in sorted(_SERVER & args.keys()):
        value = args.pop(name)
        why = "a flag of KServe's own server, and the operator's runtime uses vLLM's server"
        lost.append(Lost(field=f"{option(name)}={value}", why=why, way_out="remove it"))
    model = args.pop("model_id", None) or args.pop("model_dir", None)
    name = args.pop("model_name", None)
    return (None if name is None else str(name)), (None if model is None else str(model))
