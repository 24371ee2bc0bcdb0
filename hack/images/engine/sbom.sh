#!/bin/sh
# Writes what the image is made of, in CycloneDX 1.6: /opt/sbom/python.cdx.json and /opt/sbom/debian.cdx.json.
# Runs after install.sh, which leaves uv, and after everything that is not to stay was removed.
set -eu
here=$(dirname "$0")
if [ -n "${PACKAGE_INDEX:-}" ]; then
  export UV_DEFAULT_INDEX="$PACKAGE_INDEX"
fi
export UV_NO_CACHE=1 SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
"$here/uv/bin/uv" venv --quiet --python /opt/engine/bin/python3 "$here/sbom"
"$here/uv/bin/uv" pip install --quiet --python "$here/sbom" --no-deps -r "$here/sbom.txt"
mkdir -p /opt/sbom
"$here/sbom/bin/cyclonedx-py" environment --sv 1.6 --output-reproducible \
  --output-file /opt/sbom/python.cdx.json /opt/engine/bin/python3
"$here/sbom/bin/debsbom" generate -t cdx --cdx-schema-version 1.6 --timestamp 1970-01-01T00:00:00+00:00 \
  --cdx-serialnumber 00000000-0000-4000-8000-000000000000 -o /opt/sbom/debian 2>/dev/null
