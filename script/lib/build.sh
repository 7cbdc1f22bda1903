# shellcheck shell=bash
# Configuring, building and testing with the presets of CMakePresets.json. Sourced.

# configure PRESET OPTION...: quiet unless it fails.
configure() {
  local preset=$1 log
  shift
  log=$(mktemp)
  if ! (cd "$WEFT_ROOT" && timeout 300 cmake --preset "$preset" "$@") >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

build() { (cd "$WEFT_ROOT" && timeout 1500 cmake --build --preset "$1" --parallel "$(nproc)"); }

# system_python: the tests' Python programs want the one that distribution packages belong to.
system_python() {
  if [[ -x /usr/bin/python3 ]]; then echo /usr/bin/python3; else command -v python3 || true; fi
}
