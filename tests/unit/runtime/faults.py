"""Every fault that the preflight knows, one a row: what is wrong, and the id and the words of the finding on it."""

import json
from pathlib import Path
from typing import Any

from tests.unit.runtime import models
from tests.unit.runtime.scenes import (
    Fault,
    config,
    data,
    gone,
    head,
    header,
    mtp,
    on_target,
    pair,
    read,
    tensors,
    text,
)

from specdec_engine.accelerators import Accelerator
from specdec_runtime.preflight.device import FreeMemory, NvidiaDriver
from specdec_runtime.preflight.surroundings import Surroundings

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n"
ASCEND = Surroundings(engine=(0, 23), accelerator=Accelerator.ASCEND)
IMAGE = Surroundings(engine=(0, 32), accelerator=Accelerator.CPU, packages=frozenset())
LAYER = "model__layers__0__"


def index(names: dict[str, str]) -> Any:
    return text("model.safetensors.index.json", json.dumps({"weight_map": names}))


def small(total: int, accelerator: Accelerator = Accelerator.NVIDIA) -> Surroundings:
    memory = FreeMemory(where="NVIDIA device 0", total=total, free=total // 2)
    return Surroundings(engine=(0, 33), accelerator=accelerator, memory=memory, cache=4096)


def driven(driver: tuple[int, int], cuda: int | None) -> Surroundings:
    known = NvidiaDriver(version="570.86.15", cuda=driver)
    return Surroundings(engine=(0, 33), accelerator=Accelerator.NVIDIA, driver=known, cuda=cuda)


def rendered(asked: str, found: str, engine: tuple[int, int]) -> Surroundings:
    return Surroundings(engine=engine, accelerator=Accelerator.NVIDIA, rendered_for=asked, found=found)


def overlap(entries: dict[str, Any]) -> None:
    first, second = [each for name, each in entries.items() if name != "__metadata__"][:2]
    second["data_offsets"] = [first["data_offsets"][1] - 2, second["data_offsets"][1] - 2]


FILES = (
    Fault(what="draft not there", id="DraftMissing", words="does not exist",
          build=lambda folder: read(models.llama(folder / "t"), folder / "gone")),
    Fault(what="a file as the target", id="TargetUnreadable", words="not a folder",
          build=lambda folder: read(Path(__file__), models.llama(folder / "d"))),
    Fault(what="config.json torn", id="DraftConfigInvalid", words="cannot be read as JSON",
          build=pair(text("config.json", '{"vocab'))),
    Fault(what="config.json a pointer of Git LFS", id="TargetConfigInvalid", words="Git LFS pointer",
          build=on_target(text("config.json", POINTER))),
    Fault(what="config.json not there", id="DraftConfigInvalid", words="does not exist",
          build=pair(gone("config.json"))),
    Fault(what="tokenizer.json torn", id="TargetTokenizerInvalid", words="tokenizer",
          build=on_target(text("tokenizer.json", "{"))),
    Fault(what="no tokenizer", id="TargetTokenizerMissing", words="has no tokenizer",
          build=on_target(gone("tokenizer.json"))),
    Fault(what="weights cut off", id="DraftWeightsBroken", words="copy is incomplete",
          build=pair(data(lambda raw: raw[:-3]))),
    Fault(what="weights of zero bytes", id="DraftWeightsBroken", words="0 bytes",
          build=pair(text("model.safetensors", ""))),
    Fault(what="weights a pointer of Git LFS", id="DraftWeightsBroken", words="git lfs pull",
          build=pair(text("model.safetensors", POINTER))),
    Fault(what="an HTML page as the weights", id="DraftWeightsBroken", words="has a header length",
          build=pair(text("model.safetensors", "<!DOCTYPE html><html>denied</html>"))),
    Fault(what="tensors overlap", id="DraftWeightsBroken", words="overlap", build=pair(header(overlap))),
    Fault(what="a tensor has fewer bytes than its shape", id="DraftWeightsBroken", words="has",
          build=pair(header(lambda found: found["model.norm.weight"].update(shape=[99])))),
    Fault(what="a shard is missing", id="DraftWeightsBroken", words="are missing: b.safetensors",
          build=pair(index({"x": "model.safetensors", "y": "b.safetensors"}))),
    Fault(what="the index names a tensor that is nowhere", id="DraftWeightsBroken", words="names 1 tensors",
          build=pair(index({"x": "model.safetensors"}))),
    Fault(what="no weights", id="DraftWeightsMissing", words="has no weights",
          build=pair(gone("model.safetensors"))),
    Fault(what="weights as pickle", id="WeightsNotChecked", words="not safetensors",
          build=pair(lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"))),
)  # fmt: skip

MISMATCHES = (
    Fault(what="layers of another width than config.json", id="DraftWeightsMismatch", words="gate_proj.weight is [99",
          build=pair(tensors(**{f"{LAYER}mlp__gate_proj__weight": (99, 16)}))),
    Fault(what="config.json of another model", id="DraftWeightsMismatch", words="3 tensors differ",
          build=pair(config(intermediate_size=20))),
    Fault(what="config.json counts fewer layers", id="TargetWeightsMismatch", words="up to number 7",
          build=on_target(config(num_hidden_layers=4))),
    Fault(what="config.json counts more layers", id="DraftTensorsMissing", words="lacks 9 of",
          build=pair(config(num_hidden_layers=2))),
    Fault(what="a tensor is missing", id="DraftTensorsMissing", words="q_proj.weight",
          build=pair(tensors(**{f"{LAYER}self_attn__q_proj__weight": None}))),
    Fault(what="bits flipped", id="DraftWeightsUnsound", words="are above",
          build=pair(data(lambda raw: bytes(each ^ 0xFF for each in raw)))),
    Fault(what="NaN in the last norm", id="DraftWeightsUnsound", words="NaN or infinite",
          build=pair(data(lambda raw: raw.replace(b"\xa4\x3c", b"\xc0\x7f")))),
    Fault(what="zeros", id="DraftWeightsUnsound", words="are zero", build=pair(data(lambda raw: bytes(len(raw))))),
    Fault(what="zeros in the target", id="TargetWeightsUnsound", words="are zero",
          build=on_target(data(lambda raw: bytes(len(raw))))),
    Fault(what="another vocabulary size", id="VocabularySizeMismatch", words="vocab_size 66, but the target has 64",
          build=lambda folder: read(models.llama(folder / "t"), models.llama(folder / "d", vocab_size=66))),
    Fault(what="the same tokens under other ids", id="VocabularyMismatch", words="maps 2 ids to other tokens",
          build=pair(text("tokenizer.json", json.dumps({"model": {"vocab": models.WORDS | {"t1": 2, "t2": 1}}})))),
    Fault(what="another tokenizer in vocab.json", id="VocabularyMismatch", words="maps 64 ids to other tokens",
          build=pair(lambda folder: (gone("tokenizer.json")(folder),
                                     text("vocab.json", json.dumps({f"x{n}": n for n in range(64)}))(folder)))),
    Fault(what="no tokenizer in the draft", id="VocabularyNotCompared", words="were not compared",
          build=pair(gone("tokenizer.json"))),
)  # fmt: skip

METHODS = (
    *(Fault(what=f"a language model as {method}", id="DraftIsLanguageModel", words="a complete language model",
            build=pair(None, method=method)) for method in ("eagle", "eagle3", "dflash", "medusa")),
    Fault(what="an EAGLE-3 head as draft_model", id="DraftIsHead", words="has a head",
          build=head("draft_model", models.EAGLE3, models.EAGLE3_SHAPES)),
    Fault(what="a Medusa head as draft_model", id="DraftIsHead", words="has a head",
          build=head("draft_model", models.MEDUSA, models.MEDUSA_SHAPES)),
    Fault(what="medusa on vLLM 0.33", id="MethodNotInEngine", words="removed after 0.32",
          build=head("medusa", models.MEDUSA, models.MEDUSA_SHAPES), around=Surroundings(engine=(0, 33))),
    Fault(what="a path that vLLM reads a method from", id="DraftPathMisread", words="'dflash'",
          build=lambda folder: read(models.llama(folder / "t"), models.llama(folder / "dflash")), around=IMAGE),
    Fault(what="a head that this vLLM does not know", id="DraftArchitectureUnknown", words="Eagle3OtherForCausalLM",
          build=head("eagle3", models.EAGLE3 | {"architectures": ["OtherForCausalLM"]}, models.EAGLE3_SHAPES),
          around=Surroundings(engine=(0, 32))),
    Fault(what="a speculators checkpoint as the target", id="TargetIsSpeculator", words="would serve org/model",
          build=on_target(config(speculators_model_type="eagle3",
                                 speculators_config={"verifier": {"name_or_path": "org/model"}}))),
    Fault(what="a speculators checkpoint of a later type", id="SpeculatorsTypeUnknown", words="0.20 supports eagle3",
          build=head("eagle3", models.EAGLE3 | {"speculators_model_type": "peagle"}, models.EAGLE3_SHAPES),
          around=Surroundings(engine=(0, 20))),
    Fault(what="mtp on a model without", id="MtpHeadsMissing", words="and no MTP layers",
          build=pair(None, method="mtp")),
    Fault(what="mtp on a model that counts none", id="MtpHeadsMissing", words="and 0 MTP layers",
          build=mtp(models.MTP | {"num_nextn_predict_layers": 0})),
    Fault(what="mtp weights left out", id="MtpTensorsMissing", words="layers.8.*", build=mtp(models.MTP)),
    Fault(what="K no multiple of the MTP layers", id="MtpTokensIndivisible", words="set it to 2 or 4",
          build=mtp(models.MTP, {"model.layers.8.eh_proj.weight": (16, 32)}, num_speculative_tokens=5)),
)  # fmt: skip

HEADS = (
    Fault(what="an EAGLE head of another vocabulary", id="HeadVocabularyMismatch", words="vocab_size 32",
          build=head("eagle", models.EAGLE | {"vocab_size": 32}, models.EAGLE_SHAPES)),
    Fault(what="an lm_head of another size than draft_vocab_size", id="HeadVocabularyMismatch", words="has 48 rows",
          build=head("eagle3", models.EAGLE3, models.EAGLE3_SHAPES | {"lm_head.weight": (48, 16)})),
    Fault(what="Medusa heads of another vocabulary", id="HeadVocabularyMismatch", words="has 65 rows",
          build=head("medusa", models.MEDUSA, models.MEDUSA_SHAPES | {"lm_heads.0.weight": (65, 16)})),
    Fault(what="a reduced vocabulary without d2t", id="DraftVocabularyMapMissing", words="the tensor d2t is missing",
          build=head("eagle3", models.EAGLE3,
                     {name: shape for name, shape in models.EAGLE3_SHAPES.items() if name != "d2t"})),
    Fault(what="d2t of another size", id="DraftVocabularyMapMissing", words="d2t is [31]",
          build=head("eagle3", models.EAGLE3, models.EAGLE3_SHAPES | {"d2t": (31,)})),
    Fault(what="an EAGLE head for a wider target", id="HeadWidthMismatch", words="hidden size of 24",
          build=head("eagle", models.EAGLE | {"hidden_size": 24}, models.EAGLE_SHAPES)),
    Fault(what="fc of another width", id="HeadWidthMismatch", words="2 x 16 = 32",
          build=head("eagle", models.EAGLE, models.EAGLE_SHAPES | {"fc.weight": (16, 48)})),
    Fault(what="fc for two layers, three named", id="HeadWidthMismatch", words="3 x 16 = 48",
          build=head("eagle3", models.EAGLE3, models.EAGLE3_SHAPES | {"fc.weight": (16, 32)})),
    Fault(what="more tokens than Medusa heads", id="MedusaHeadsTooFew", words="has 4 heads",
          build=head("medusa", models.MEDUSA, models.MEDUSA_SHAPES, num_speculative_tokens=5)),
    Fault(what="a layer that the target does not have", id="AuxLayersOutOfRange", words="layer 15",
          build=head("eagle3", models.EAGLE3 | {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 15, 30]}},
                     models.EAGLE3_SHAPES)),
    Fault(what="a DFlash layer that the target does not have", id="AuxLayersOutOfRange", words="layer 13",
          build=head("dflash", models.DFLASH | {"dflash_config": {"mask_token_id": 3, "target_layer_ids": [1, 3, 12]}},
                     models.DFLASH_SHAPES)),
    Fault(what="EAGLE-3 on a shallow target", id="AuxLayersCollapse", words="uses [2, 2, 1] of the target's 4",
          build=head("eagle3", models.EAGLE3, models.EAGLE3_SHAPES, depth=4)),
    Fault(what="parallel drafting of a usual draft", id="ParallelDraftingUntrained", words="no mask token",
          build=pair(None, parallel_drafting=True)),
    Fault(what="parallel drafting of a usual EAGLE-3 head", id="ParallelDraftingUntrained", words="mask_hidden",
          build=head("eagle3", models.EAGLE3 | {"ptd_token_id": 3}, models.EAGLE3_SHAPES, parallel_drafting=True)),
    Fault(what="more tokens than a DFlash block", id="DraftBlockShort", words="set num_speculative_tokens to 7",
          build=head("dflash", models.DFLASH, models.DFLASH_SHAPES, num_speculative_tokens=8)),
    Fault(what="a head of another target by its name", id="VerifierMismatch", words="org/other",
          build=lambda folder: read(
              models.llama(folder / "t", _name_or_path="org/model"),
              models.head(folder / "d", models.EAGLE3 | {
                  "speculators_config": {"verifier": {"name_or_path": "org/other"}}}, models.EAGLE3_SHAPES),
              method="eagle3")),
    Fault(what="other K than a speculators checkpoint says", id="SpeculatorsSettingsIgnored", words="has 3",
          build=head("eagle3", models.EAGLE3 | {
              "speculators_model_type": "eagle3",
              "speculators_config": {"proposal_methods": [{"speculative_tokens": 3}]}}, models.EAGLE3_SHAPES)),
    Fault(what="a P-EAGLE head without parallel_drafting", id="SpeculatorsSettingsIgnored", words="is a peagle",
          build=head("eagle3", models.EAGLE3 | {"speculators_model_type": "peagle"}, models.EAGLE3_SHAPES)),
)  # fmt: skip

PLACES = (
    Fault(what="a draft for a shorter context", id="DraftContextShort", words="in 75 % of the context",
          build=lambda folder: read(models.llama(folder / "t"), models.llama(folder / "d", max_position_embeddings=256),
                                    "--max-model-len=1024")),
    Fault(what="a draft of another type", id="DraftTypeOther", words="dtype float32",
          build=lambda folder: read(models.llama(folder / "t"), models.llama(folder / "d", dtype="float32"))),
    Fault(what="flags that contradict a quantised draft", id="DraftQuantizationContradicted", words="'awq'",
          build=lambda folder: read(models.llama(folder / "t"),
                                    models.llama(folder / "d", quantization_config={"quant_method": "fp8"}),
                                    quantization="awq")),
    Fault(what="K = 16 on an NPU", id="NpuTokensTooMany", words="up to 16 tokens",
          build=pair(None, num_speculative_tokens=16), around=ASCEND),
    Fault(what="suffix as it is on an NPU", id="NpuTokensTooMany", words="up to 24 tokens",
          build=pair(None, method="suffix", num_speculative_tokens=None), around=ASCEND),
    Fault(what="a draft on fewer NPUs", id="NpuDraftTensorParallel", words="--tensor-parallel-size 2",
          build=pair(None, "--tensor-parallel-size=2", draft_tensor_parallel_size=1), around=ASCEND),
    Fault(what="two vocabularies on an NPU", id="NpuHeterogeneousVocabulary", words="cannot translate",
          build=pair(None, use_heterogeneous_vocab=True), around=ASCEND),
    Fault(what="the memory of an NPU", id="MemoryNotMeasured", words="was not checked",
          build=pair(), around=ASCEND),
    Fault(what="min_p as a default", id="SamplingNotServed", words="HTTP 400",
          build=pair(text("generation_config.json", '{"min_p": 0.05}'), method="ngram")),
    Fault(what="min_p as a default by flag", id="SamplingNotServed", words="--override-generation-config of",
          build=pair(None, '--override-generation-config={"min_p": 0.1}')),
    Fault(what="top_k as a default on a CPU", id="SamplingNeedsPlugin", words="sets top_k",
          build=pair(text("generation_config.json", '{"top_k": 20}'), method="ngram"),
          around=Surroundings(engine=(0, 32), accelerator=Accelerator.CPU)),
    Fault(what="suffix without its package", id="SuffixPackageMissing", words="arctic-inference",
          build=pair(None, method="suffix"), around=IMAGE),
    Fault(what="ngram without its package", id="NgramPackageMissing", words="numba",
          build=pair(None, method="ngram"), around=IMAGE),
    Fault(what="a device that is too small", id="MemoryTooSmall", words="0.00 GiB", build=pair(), around=small(1000)),
    Fault(what="a device that is nearly too small", id="MemoryTight", words="less than a tenth",
          build=pair(), around=small(47_000)),
    Fault(what="a container that is too small", id="MemoryTooSmall", words="weights and KV cache",
          build=pair(), around=small(20_000, Accelerator.CPU)),
    Fault(what="a driver of another CUDA", id="DriverTooOld", words="it must be R580 or newer",
          build=pair(), around=driven((12, 8), 13)),
    Fault(what="flags of a later engine", id="EngineVersionDiffers", words="has no --shutdown-timeout",
          build=pair(None, "--shutdown-timeout=50"), around=rendered("vllm 0.33.0", "vllm 0.15.1", (0, 15))),
    Fault(what="flags of another engine that this one has", id="EngineVersionOther", words="set spec.engine.version to",
          build=pair(), around=rendered("vllm 0.33.0", "vllm 0.32.0", (0, 32))),
)  # fmt: skip

FAULTS = (*FILES, *MISMATCHES, *METHODS, *HEADS, *PLACES)
