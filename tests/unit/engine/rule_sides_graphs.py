"""Graphs: sizes that no start survives, and requests that no graph covers; each rule on both sides."""

from typing import Any

from tests.unit.engine.cases import NPU, case, spec

from specdec_engine.case import Case

FULL = "FULL_DECODE_ONLY"


def npu(release: str = "0.23.0", k: int = 4, **args: Any) -> Case:
    """EAGLE on NPUs, whose backends capture whole decoding steps."""
    return case(spec("eagle", k), version=release, ascend=release, flavor=NPU, draft="d-eagle", **args)


def gpu(version: str, k: int = 3, **args: Any) -> Case:
    """N-grams on a GPU."""
    return case(spec("ngram", k), version=version, **args)


def graphs(*sizes: int, mode: str = FULL, **more: Any) -> dict[str, Any]:
    """A --compilation-config with sizes and a mode."""
    return {"compilation_config": {"cudagraph_capture_sizes": list(sizes), "cudagraph_mode": mode, **more}}


SIDES: list[tuple[str, Case, Case]] = [
    (
        "GRAPH-TWICE",
        gpu("0.25.1", cudagraph_capture_sizes=["4"], **graphs(4)),
        gpu("0.25.1", cudagraph_capture_sizes=["4"]),
    ),
    ("GRAPH-EMPTY", gpu("0.25.1", **graphs()), gpu("0.25.1", **graphs(4))),
    (
        "GRAPH-END",
        gpu("0.25.1", **graphs(4, 8, max_cudagraph_capture_size=16)),
        gpu("0.25.1", **graphs(4, 8, max_cudagraph_capture_size=8)),
    ),
    ("GRAPH-START", npu(max_num_seqs=4, **graphs(1, 2, 4)), npu(max_num_seqs=4, **graphs(1, 2, 5))),
    ("GRAPH-START", gpu("0.25.1", **graphs(1, 2)), gpu("0.25.1", **graphs(1, 2, mode="PIECEWISE"))),
    ("GRAPH-START", npu(compilation_config={"max_cudagraph_capture_size": 4}), npu(max_num_seqs=4)),
    (
        "ASC-GRAPH-SIZES",
        npu("0.11.0", max_num_seqs=4, **graphs(5, 8, 20)),
        npu("0.11.0", max_num_seqs=4, **graphs(1, 5, 20, 24)),
    ),
    ("GRAPH-COVERAGE", npu(max_num_seqs=264, **graphs(5, 10)), npu(max_num_seqs=2, **graphs(5, 10))),
    (
        "GRAPH-COVERAGE",
        npu(max_num_seqs=40, enable_expert_parallel=True, **graphs(5, 10)),
        npu(max_num_seqs=2, enable_expert_parallel=True, **graphs(5, 10)),
    ),
    ("GRAPH-COVERAGE", gpu("0.33.0", max_num_seqs=129), gpu("0.33.0", max_num_seqs=128)),
    ("GRAPH-COVERAGE", gpu("0.33.0", max_num_seqs=129), gpu("0.33.0", max_num_seqs=129, enforce_eager=True)),
    ("GRAPH-COVERAGE", gpu("0.33.0", max_num_seqs=129), gpu("0.33.0", max_num_seqs=129, optimization_level="0")),
    (
        "GRAPH-COVERAGE",
        gpu("0.33.0", max_num_seqs=129, max_cudagraph_capture_size=4),
        gpu("0.33.0", max_num_seqs=129, max_cudagraph_capture_size=0),
    ),
    ("GRAPH-COVERAGE", npu(max_num_seqs=264, **graphs(5, 10)), npu(max_num_seqs=264, **graphs(5, 10, mode="NONE"))),
    ("GRAPH-SIZES", npu(max_num_seqs=4, **graphs(10, 2, 5)), npu(max_num_seqs=4, **graphs(20, 10, 5))),
    ("GRAPH-COVERAGE", gpu("0.33.0", max_num_seqs=129), case(spec("suffix"), version="0.33.0", max_num_seqs=129)),
    ("GRAPH-COVERAGE-DEFAULT", gpu("0.33.0", 15), gpu("0.33.0", 15, enforce_eager=True)),
    ("GRAPH-COVERAGE-DEFAULT", gpu("0.33.0", 15), gpu("0.33.0")),
]
