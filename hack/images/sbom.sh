#!/bin/sh
# Writes what the image is made of, in CycloneDX 1.6: /opt/sbom/python.cdx.json and /opt/sbom/debian.cdx.json.
#
#   sh sbom.sh PYTHON VENDOR      the interpreter of the environment, such as /opt/venv/bin/python3; debian or ubuntu
#
# uv is beside this file, in uv/. Runs after everything that is not to stay was removed.
set -eu
here=$(dirname "$0")
python=$1
vendor=$2
if [ -n "${PACKAGE_INDEX:-}" ]; then
  export UV_DEFAULT_INDEX="$PACKAGE_INDEX"
fi
export UV_NO_CACHE=1 SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
"$here/uv/bin/uv" venv --quiet --python "$python" "$here/sbom"
"$here/uv/bin/uv" pip install --quiet --require-hashes --python "$here/sbom" --no-deps -r "$here/sbom.txt"
mkdir -p /opt/sbom
"$here/sbom/bin/cyclonedx-py" environment --sv 1.6 --output-reproducible \
  --output-file /opt/sbom/python.cdx.json "$python"
"$here/sbom/bin/debsbom" generate -t cdx --base-distro-vendor "$vendor" --cdx-schema-version 1.6 \
  --timestamp 1970-01-01T00:00:00+00:00 --cdx-serialnumber 00000000-0000-4000-8000-000000000000 \
  -o /opt/sbom/debian 2>/dev/null
