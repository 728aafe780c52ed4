#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing of the named groups of packages.txt: bootstrap.sh build [test|fuzz|style|docs]...
# Silent and quick when nothing is missing. Exit 3 with the command to type when it cannot install.
# The group test brings python-packages.txt into .venv (or TILEWRIGHT_VENV), if that can be done: the
# tests that need them skip without.
set -euo pipefail
scripts="$(dirname "${BASH_SOURCE[0]}")"
list="$scripts/packages.txt"
venv=${TILEWRIGHT_VENV:-$scripts/../.venv}

wanted=()
for group in "$@"; do
  mapfile -t names < <(awk -v group="$group" '!/^#/ && $2 == group { print $1 }' "$list")
  if [ "${#names[@]}" -eq 0 ]; then
    echo "bootstrap: packages.txt has no group '$group'" >&2
    exit 2
  fi
  wanted+=("${names[@]}")
done
[ "${#wanted[@]}" -gt 0 ] || { echo "usage: bootstrap.sh build [test|fuzz|style|docs]..." >&2; exit 2; }

# The environment holds a copy of the list that it was made from.
python_packages() {
  local list="$scripts/python-packages.txt" made="$venv/python-packages.txt"
  [[ " $* " == *" test "* ]] || return 0
  if [ -e "$made" ] && [ "$(<"$made")" = "$(<"$list")" ]; then return 0; fi
  without() {
    echo "bootstrap: $1; the tests that compile CUDA will skip" >&2
  }
  command -v python3 >/dev/null || { without "there is no python3"; return 0; }
  echo "bootstrap: Python packages for the tests, installed now into $venv" >&2
  python3 -m venv "$venv" >&2 || { without "python3 -m venv failed"; return 0; }
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 20 \
    --only-binary :all: --no-deps -r "$list" >&2 || { without "pip failed"; return 0; }
  echo "$(<"$list")" >"$made"
}

if ! command -v dpkg-query >/dev/null; then
  echo "bootstrap: not a Debian system, so nothing is installed here. CMake will say what it" >&2
  echo "bootstrap: misses; Debian's names for it: ${wanted[*]}" >&2
  python_packages "$@"
  exit 0
fi

# dpkg-query fails when a name is unknown to it; what it prints about the others still counts.
have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
missing=()
for name in "${wanted[@]}"; do
  grep -qxF "installed $name" <<<"$have" || missing+=("$name")
done
if [ "${#missing[@]}" -eq 0 ]; then
  python_packages "$@"
  exit 0
fi

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
install=(apt-get install -y --no-install-recommends "${missing[@]}")
cannot() {
  echo "bootstrap: $1. Install them yourself, then run make again:" >&2
  echo "  sudo apt-get update && sudo ${install[*]}" >&2
  exit 3
}

echo "bootstrap: missing packages, installed now with apt-get: ${missing[*]}" >&2
command -v apt-get >/dev/null || cannot "there is no apt-get"
if [ "${#as_root[@]}" -gt 0 ]; then
  command -v sudo >/dev/null || cannot "installing needs root, and there is no sudo"
  # Without a terminal sudo could only wait for a password that nobody types.
  if [ ! -t 0 ]; then sudo -n true 2>/dev/null || cannot "sudo asks for a password"; fi
fi

export DEBIAN_FRONTEND=noninteractive
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" >&2; }
# Package lists may be absent (a fresh container) or stale; only then are they fetched.
if ! apt-get install -s --no-install-recommends "${missing[@]}" >/dev/null 2>&1; then
  apt apt-get update || cannot "apt-get update failed"
  apt "${install[@]}" || cannot "apt-get install failed"
elif ! apt "${install[@]}"; then
  apt apt-get update || cannot "apt-get update failed"
  apt "${install[@]}" || cannot "apt-get install failed"
fi
python_packages "$@"
