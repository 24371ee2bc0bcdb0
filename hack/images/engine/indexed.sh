#!/bin/sh
# Installs one package of another index into the engine. No lock knows its files, so whoever names the index names their
# hashes too: one, or one for each processor.
#
#   sh indexed.sh PACKAGE==VERSION INDEX "sha256:HEX [sha256:HEX]"
set -eu
here=$(dirname "$0")
if [ -z "$3" ]; then
  echo "$1 of $2: no hash is given, and nothing is installed without one; build with --build-arg" \
    "TORCH_HASHES=sha256:HEX, the SHA-256 of the wheel (an index has it in its page, behind #sha256=)" >&2
  exit 1
fi
entry=$1
for hash in $3; do
  entry="$entry --hash=$hash"
done
echo "$entry" > "$here/indexed.txt"
# What is there under the same version would else stay, whatever its hash.
"$here/uv/bin/uv" pip install --quiet --no-cache --reinstall --require-hashes --python /opt/engine --no-deps \
  --default-index "$2" -r "$here/indexed.txt"
