#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/bootstrap.sh against invented package tools: what is missing is asked for, nothing else
# is, and where it cannot install it says what to type and exits 3.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$work/bin
bash_path=$(command -v bash)
failures=0

fail() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

export TILEWRIGHT_VENV=$work/venv
packages=$root/scripts/python-packages.txt

# Only what the script may use, so that a real apt-get can never be reached.
fresh() {
  rm -rf "$bin"
  mkdir -p "$bin"
  for tool in awk dirname grep env bash; do ln -s "$(command -v "$tool")" "$bin/$tool"; done
  : >"$work/calls"
  : >"$work/absent"
  mkdir -p "$work/venv/bin"
  cp "$packages" "$work/venv/python-packages.txt"
  tool dpkg-query 'shift 3; for name in "$@"; do
    if grep -qxF "$name" '"$work"'/absent; then rc=1; else echo "installed $name"; fi
  done; exit "${rc:-0}"'
  tool apt-get 'echo "apt-get $*" >>'"$work"'/calls'
  tool id 'echo 0'
}
tool() { printf '#!%s\n%s\n' "$bash_path" "$2" >"$bin/$1" && chmod +x "$bin/$1"; }
# Runs it and keeps the exit status in $rc, the output in $out.
bootstrap() {
  out=$(PATH=$bin "$bash_path" "$root/scripts/bootstrap.sh" "$@" 2>&1 </dev/null)
  rc=$?
}
has() { grep -qF -- "$2" <<<"$1"; }

fresh
bootstrap build test
[ "$rc" -eq 0 ] && [ -z "$out" ] && [ ! -s "$work/calls" ] || fail "nothing missing: rc=$rc $out"

fresh
echo libfmt-dev >"$work/absent"
echo libgtest-dev >>"$work/absent"
bootstrap build
calls=$(cat "$work/calls")
[ "$rc" -eq 0 ] || fail "one missing: rc=$rc $out"
has "$calls" 'apt-get install -y --no-install-recommends libfmt-dev' || fail "not installed: $calls"
has "$calls" libgtest-dev && fail "a package of another group was installed: $calls"
has "$calls" update && fail "package lists fetched without need: $calls"
has "$out" 'missing packages, installed now with apt-get: libfmt-dev' || fail "unannounced: $out"

# A fresh container has no package lists: the dry run fails, so they are fetched first.
fresh
echo cmake >"$work/absent"
tool apt-get 'echo "apt-get $*" >>'"$work"'/calls; [ "$2" != -s ]'
bootstrap build
[ "$(grep -n update "$work/calls" | cut -d: -f1)" = 2 ] || fail "no update: $(cat "$work/calls")"
[ "$rc" -eq 0 ] || fail "after an update: rc=$rc $out"

# Each way in which it cannot install: exit 3 and the exact command.
command='sudo apt-get update && sudo apt-get install -y --no-install-recommends cmake'
refused() {
  echo cmake >"$work/absent"
  bootstrap build
  [ "$rc" -eq 3 ] || fail "$1: rc=$rc, not 3: $out"
  has "$out" "$command" || fail "$1: no command in: $out"
}
fresh
tool apt-get 'exit 100'
refused 'apt-get fails'
fresh
rm "$bin/apt-get"
refused 'no apt-get'
fresh
tool id 'echo 1000'
refused 'no sudo'
fresh
tool id 'echo 1000'
tool sudo '[ "$1" != -n ] || exit 1; echo "sudo reached" >>'"$work"'/calls'
refused 'sudo asks'
has "$(cat "$work/calls")" 'sudo reached' && fail 'sudo ran where it could only wait'

fresh
tool id 'echo 1000'
tool sudo 'if [ "$1" = -n ]; then exit 0; fi; echo "sudo" >>'"$work"'/calls; exec "$@"'
echo cmake >"$work/absent"
bootstrap build
has "$(cat "$work/calls")" sudo || fail "sudo was not used: $out"
[ "$rc" -eq 0 ] || fail "sudo: rc=$rc $out"

fresh
rm "$bin/dpkg-query"
bootstrap build
[ "$rc" -eq 0 ] && has "$out" 'not a Debian system' || fail "elsewhere: rc=$rc $out"

# Python packages for the tests: only for that group, only when the list has changed, and never a
# reason to stop.
fresh
echo old >"$work/venv/python-packages.txt"
tool python3 'echo "python3 $*" >>'"$work"'/calls'
printf '#!%s\necho "pip $*" >>%s/calls\n' "$bash_path" "$work" >"$work/venv/bin/python"
chmod +x "$work/venv/bin/python"
bootstrap build
[ "$rc" -eq 0 ] && [ ! -s "$work/calls" ] || fail "Python packages for a build: rc=$rc $out"
bootstrap build test
calls=$(cat "$work/calls")
[ "$rc" -eq 0 ] || fail "Python packages: rc=$rc $out"
has "$calls" "python3 -m venv $work/venv" || fail "no environment was made: $calls"
has "$calls" "install --quiet" && has "$calls" "-r $packages" || fail "nothing was installed: $calls"
: >"$work/calls"
bootstrap build test
[ "$rc" -eq 0 ] && [ -z "$out" ] && [ ! -s "$work/calls" ] || fail "installed again: rc=$rc $out"
echo old >"$work/venv/python-packages.txt"
printf '#!%s\nexit 1\n' "$bash_path" >"$work/venv/bin/python"
bootstrap build test
[ "$rc" -eq 0 ] && has "$out" 'pip failed' || fail "pip fails: rc=$rc $out"
rm "$bin/python3"
bootstrap build test
[ "$rc" -eq 0 ] && has "$out" 'there is no python3' || fail "no python3: rc=$rc $out"

fresh
bootstrap paint
[ "$rc" -eq 2 ] && has "$out" "no group 'paint'" || fail "unknown group: rc=$rc $out"

[ "$failures" -eq 0 ] && echo 'bootstrap: all cases hold'
exit "$((failures > 0))"
