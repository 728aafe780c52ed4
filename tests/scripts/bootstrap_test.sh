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

# Only what the script may use, so that a real apt-get can never be reached.
fresh() {
  rm -rf "$bin"
  mkdir -p "$bin"
  for tool in awk dirname grep env bash; do ln -s "$(command -v "$tool")" "$bin/$tool"; done
  : >"$work/calls"
  : >"$work/absent"
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

fresh
bootstrap paint
[ "$rc" -eq 2 ] && has "$out" "no group 'paint'" || fail "unknown group: rc=$rc $out"

[ "$failures" -eq 0 ] && echo 'bootstrap: all cases hold'
exit "$((failures > 0))"
