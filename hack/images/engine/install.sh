#!/bin/sh
# Installs one engine into /opt/engine, as the requirements beside this file say.
#
#   sh install.sh ENGINE [cuda|rest]          ENGINE: cpu, nvidia or ascend
#
# cuda: PyTorch and the packages of CUDA alone; rest: what is left then. Without this word: everything.
# PACKAGE_INDEX: a mirror of PyPI. TORCH_INDEX, TORCH_VERSION and TORCH_HASHES: another build of PyTorch than PyPI's.
# Packages that PyPI has as source only are built last, because their builds load PyTorch.
set -eu
here=$(dirname "$0")
engine=$1
step=${2:-}
if [ -n "${PACKAGE_INDEX:-}" ]; then
  export PIP_INDEX_URL="$PACKAGE_INDEX" UV_DEFAULT_INDEX="$PACKAGE_INDEX"
fi
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
  export PIP_CERT=/etc/ssl/certs/ca-certificates.crt SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
fi
# Hard links: what is unpacked is on the disk once.
export UV_NO_CACHE=1 UV_LINK_MODE=hardlink
# PyTorch is loaded by builds; torch-npu must not be with it, for its driver is on nodes alone.
export TORCH_DEVICE_BACKEND_AUTOLOAD=0
python3 -m venv "$here/uv"
"$here/uv/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$here/uv.txt"
PATH="$here/uv/bin:$PATH"
[ -e /opt/engine ] || uv venv --quiet --python "$(command -v python3)" /opt/engine

case $engine in
  ascend) built='^(arctic-inference|vllm)==' ;;
  *) built='^arctic-inference==' ;;
esac
# An entry is a line with a package and, indented, the lines of its hashes.
awk -v built="$built" '/^[^ ]/ { here = $0 ~ built } !here' "$here/$engine.txt" > "$here/wheels.txt"
awk -v built="$built" '/^[^ ]/ { here = $0 ~ built } here' "$here/$engine.txt" > "$here/built.txt"
if [ -n "$step" ]; then
  cuda='^(torch|triton|nvidia-|cuda-)'
  awk -v cuda="$cuda" -v step="$step" '/^[^ ]/ { here = ($0 ~ cuda) == (step == "cuda") } here' \
    "$here/wheels.txt" > "$here/step.txt"
  mv "$here/step.txt" "$here/wheels.txt"
fi
uv pip install --quiet --require-hashes --python /opt/engine --no-deps -r "$here/wheels.txt"
if [ "$step" = cuda ]; then exit; fi
if [ -n "${TORCH_INDEX:-}" ]; then
  sh "$here/indexed.sh" "torch==$TORCH_VERSION" "$TORCH_INDEX" "${TORCH_HASHES:-}"
fi
# PyPI's PyTorch is CUDA's. Where the engine is not, its libraries are left out, and stubs let it be loaded.
if [ "$engine" != nvidia ]; then
  site=$(/opt/engine/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  python3 "$here/cuda_stubs.py" "$site"
fi

# The tools of the builds lie beside the engine, not in it: nothing of them has to be removed from it again.
uv pip install --quiet --require-hashes --python /opt/engine --no-deps --target "$here/tools" -r "$here/build.txt"
export CMAKE_ARGS=-DPython_EXECUTABLE=/opt/engine/bin/python
# vLLM without a device of its own; the plugin compares its version with "0.23.0", without "+empty".
export VLLM_TARGET_DEVICE=empty VLLM_VERSION_OVERRIDE=0.23.0
PATH="$here/tools/bin:/opt/engine/bin:$PATH" PYTHONPATH="$here/tools" \
  uv pip install --quiet --require-hashes --python /opt/engine --no-deps --no-binary :all: --no-build-isolation \
  -r "$here/built.txt"
