# shellcheck shell=bash
# apt-get without questions, that waits for others. Sourced by script/setup.

export DEBIAN_FRONTEND=noninteractive
APT_OPTIONS=(-q -o DPkg::Lock::Timeout=900 -o Acquire::Retries=3)

# apt_update: the lists have a lock of their own that no option waits for.
apt_update() {
  local attempt
  for attempt in {1..30}; do
    apt-get "${APT_OPTIONS[@]}" update >"$APT_LOG" 2>&1 && return 0
    grep -q 'Could not get lock' "$APT_LOG" || return 1
    ((attempt > 1)) || say "  another program holds apt's lock; waiting for it (5 minutes at most)"
    sleep 10
  done
  return 1
}

# apt_choose "A B": prints the first of the names that this release has.
apt_choose() {
  local package
  for package in $1; do
    if [[ $(apt-cache policy "$package" 2>/dev/null) == *Candidate:\ [0-9]* ]]; then
      echo "$package"
      return 0
    fi
  done
  return 1
}

apt_install() {
  apt-get "${APT_OPTIONS[@]}" install -y --no-install-recommends "$@" >"$APT_LOG" 2>&1
}
