#!/usr/bin/env bash
# Other people's clients that the tests talk to, in a folder of their own: .cache/peers-python/<Python version>. Python packages only,
# by name, through pip; nothing outside the cache is touched. Tests that want one skip when it is not there.
#
#   script/lib/peers.sh        installs what is missing
set -euo pipefail
# shellcheck source=script/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=script/lib/build.sh
. "$WEFT_ROOT/script/lib/build.sh"

PEER_PACKAGES=('tritonclient[http,grpc]' grpcio-health-checking ml_dtypes openapi-spec-validator)

main() {
  local python version folder
  python=$(system_python)
  [[ -n $python ]] || { note "peers: no Python here; the tests with other clients skip"; return 0; }
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  folder=$WEFT_CACHE/peers-python/$version
  if PYTHONPATH=$folder "$python" -c 'import tritonclient.http, tritonclient.http.aio, tritonclient.grpc.aio, grpc_health.v1.health_pb2, ml_dtypes, openapi_spec_validator' 2>/dev/null; then
    return 0
  fi
  mkdir -p "$folder"
  if "$python" -m pip install --quiet --no-warn-conflicts --target "$folder" "${PEER_PACKAGES[@]}"; then
    note "peers: Triton's client for Python $version"
  else
    warn "peers: ${PEER_PACKAGES[*]} could not be installed; the tests with them skip"
  fi
}

main "$@"
