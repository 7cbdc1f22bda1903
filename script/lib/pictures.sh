# shellcheck shell=bash
# Pictures, test data and a font out of distribution packages, without installing them. Sourced by script/fetch.

# fetch_pictures PROFILE: what pictures.tsv lists; a package this release does not have is skipped with a sentence.
fetch_pictures() {
  local profile name packages folder
  local wanted=()
  while IFS=$'\t' read -r profile name packages folder _; do
    [[ $profile == demo || $profile == "$1" ]] || continue
    [[ -e $WEFT_CACHE/$name/. ]] || wanted+=("$name"$'\t'"$packages"$'\t'"$folder")
  done < <(rows pictures.tsv)
  ((${#wanted[@]})) || return 0
  if ! have apt-get || ! have dpkg-deb; then
    warn "Pictures come out of Debian and Ubuntu packages; this machine has no apt-get. Skipped."
    return 0
  fi
  say "Fetching pictures into $WEFT_CACHE"
  for name in "${wanted[@]}"; do
    IFS=$'\t' read -r name packages folder <<<"$name"
    fetch_picture_set "$name" "$packages" "$folder"
  done
}

# fetch_picture_set NAME PACKAGES FOLDER
fetch_picture_set() {
  local name=$1 package work=$WEFT_CACHE/work
  if ! package=$(first_package "$2"); then
    warn "  this release has no package ${2// / or }: $name is skipped"
    return 0
  fi
  rm -rf "$work"
  mkdir -p "$work"
  if ! download_deb "$package" "$work"; then
    warn "  $package could not be had, $name is skipped: $(tail -n 1 "$work/log")"
    return 0
  fi
  dpkg-deb -x "$work"/*.deb "$work/unpacked"
  local found=("$work"/unpacked/$3)
  if [[ -d ${found[0]} ]]; then
    mkdir -p "$(dirname "$WEFT_CACHE/$name")"
    mv "${found[0]}" "$WEFT_CACHE/$name"
    say "  $green✓$plain $name ($package)"
  else
    warn "  $package of this release has no $3: $name is skipped"
  fi
  rm -rf "$work"
}

# first_package "A B C": prints the first that apt knows.
first_package() {
  local package
  refresh_apt_lists
  for package in $1; do
    if apt-cache show --no-all-versions "$package" >/dev/null 2>&1; then
      echo "$package"
      return 0
    fi
  done
  return 1
}

# download_deb PACKAGE FOLDER: apt checks the archive's signature and sum. As root it would warn about its sandbox.
download_deb() {
  (cd "$2" && timeout 900 apt-get -q -o APT::Sandbox::User=root download "$1" >"$2/log" 2>&1)
}

# refresh_apt_lists: once, and only where a fresh machine has none yet.
refresh_apt_lists() {
  compgen -G '/var/lib/apt/lists/*Packages*' >/dev/null && return 0
  is_root || { warn "  apt has no package lists yet; an administrator should run: apt-get update"; return 0; }
  apt-get -q update >/dev/null 2>&1 || true
}
