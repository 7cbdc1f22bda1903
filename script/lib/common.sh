# shellcheck shell=bash
# Messages, paths and small questions that every script here shares. Sourced, never run.

WEFT_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
WEFT_CACHE=${WEFT_CACHE:-$WEFT_ROOT/.cache}
export WEFT_ROOT WEFT_CACHE

if [[ -t 1 && ${TERM:-dumb} != dumb && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' green=$'\e[32m' red=$'\e[31m' dim=$'\e[2m' plain=$'\e[0m'
else
  bold='' green='' red='' dim='' plain=''
fi

heading() { printf '\n%s== %s ==%s\n' "$bold" "$*" "$plain"; }
say()     { printf '%s\n' "$*"; }
note()    { printf '%s%s%s\n' "$dim" "$*" "$plain"; }
good()    { printf '%s%s%s\n' "$green" "$*" "$plain"; }
warn()    { printf '%s%s%s\n' "$red" "$*" "$plain" >&2; }
die()     { warn "$*"; exit 1; }

have()    { command -v "$1" >/dev/null 2>&1; }
is_root() { [[ $(id -u) -eq 0 ]]; }

# usage_from FILE: prints the comment block at the head of a script as its help text.
usage_from() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p;}' "$1"; }

# rows TABLE: the lines of a .tsv that carry data.
rows() { grep -v '^#' "$WEFT_ROOT/script/lib/$1"; }

# python_with MODULE...: prints a Python that can import all of them, the system's own first
# (Debian's python3-* packages belong to it, whatever else PATH has).
python_with() {
  local python modules
  modules=$(IFS=,; echo "$*")
  for python in /usr/bin/python3 python3; do
    if have "$python" && PYTHONPATH="$WEFT_CACHE/python" "$python" -c "import ${modules:-sys}" 2>/dev/null; then
      echo "$python"
      return 0
    fi
  done
  return 1
}

# use_fetched_font: Chinese text is drawn with the font that script/fetch brought where the system has none that can.
use_fetched_font() {
  local fetched=$WEFT_CACHE/fonts/wqy/wqy-microhei.ttc
  [[ -z ${WEFT_FONT:-} && -f $fetched ]] || return 0
  compgen -G '/usr/share/fonts/*/noto/NotoSansCJK-*' >/dev/null && return 0
  compgen -G '/usr/share/fonts/*noto*cjk*/NotoSansCJK-*' >/dev/null && return 0
  compgen -G '/usr/share/fonts/truetype/wqy/*' >/dev/null && return 0
  compgen -G '/usr/share/fonts/wqy-*/*' >/dev/null && return 0
  export WEFT_FONT=$fetched
}

# seconds_since START: for lines such as "done in 12 s", START being $SECONDS from before.
seconds_since() { echo "$((SECONDS - $1)) s"; }
