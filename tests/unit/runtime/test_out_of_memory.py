"""Termination messages that mean too little memory: real ones of vLLM, PyTorch and vendors, and some that do not."""

import pytest

from specdec_engine.out_of_memory import ran_out


@pytest.mark.parametrize(
    "words",
    [
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 0 has a total capacity of 23.53 GiB",
        "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try "
        "lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.",
        "RuntimeError: CUDA error: out of memory",
        "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity)",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you "
        "tried to allocate 68719476736 bytes. Error code 12 (Cannot allocate memory)",
        "ValueError: Free memory on device cuda:0 (20.1/23.5 GiB) on startup is less than desired GPU memory "
        "utilization (0.92, 21.6 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
        "ValueError: Available memory on node 0 (14.18/15.59 GiB) on kv cache allocation is less than requested memory "
        "for kv (64.0 GiB). Decrease --kv-cache-memory-bytes, VLLM_CPU_KVCACHE_SPACE, or reduce CPU memory.",
        "EL0004: [PID: 7] 2026-08-01-10:00:00.000.000 Failed to allocate memory.",
        "EI0007: Failed to allocate resource[Stream] with info [streamNum:1]. Reason: Memory resources are exhausted.",
        "RuntimeError: ACL stream synchronize failed, error code is 207018",
        "[Error]: rtMalloc failed, ret=207001",
        "MemoryError",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "ncclUnhandledCudaError: Call to CUDA function failed. Last error: Cuda failure 'out of memory'",
    ],
)
def test_words_of_an_engine_that_ran_out_of_memory(words: str) -> None:
    """With less memory to take, or to keep free, it would start."""
    assert ran_out(words)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.",
        "ValueError: To serve at least one request with the models's max seq len (1024), (0.0 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (0.0 GiB).",
        "the engine died while serving: one of its processes ended without a log line: it was killed or ran out of "
        "memory",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "weights and KV cache need 4096.00 GiB, and this host has 23.54 GiB: the memory is too small; raise the limit",
    ],
)
def test_messages_that_mean_something_else(words: str) -> None:
    """A cache that is too small would be smaller still; a guess is not evidence."""
    assert not ran_out(words)
