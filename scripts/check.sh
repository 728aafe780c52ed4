#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh [--long]: everything that must hold before a commit. Release build and tests, the same
# under AddressSanitizer and UndefinedBehaviorSanitizer. --long adds ThreadSanitizer, a minute of each
# fuzzer and the portable binary. A failed test does not hide the later ones; a failed build ends the run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
long=0
if [ "${1:-}" = --long ]; then long=1; fi
jobs=${JOBS:-$(nproc)}
failed=()
presets=()

# test_preset <preset> [command prefix...]
test_preset() {
  local preset=$1
  shift
  scripts/build.sh "$preset"
  echo "== test $preset"
  presets+=("$preset")
  "$@" ctest --preset "$preset" --parallel "$jobs" --no-tests=error --progress \
    --output-junit "$PWD/build/$preset/junit.xml" | tee "build/$preset/ctest.log" ||
    failed+=("tests of $preset")
}

# Seconds by suite, which is what stands before the first dot of a test's name.
suite_times() {
  for preset in "${presets[@]}"; do
    sed -n 's/.*<testcase name="\([^".]*\)[^"]*".* time="\([0-9.e+-]*\)".*/\1 \2/p' \
      "build/$preset/junit.xml" | awk -v preset="$preset" '
        { count[$1]++; seconds[$1] += $2 }
        END { for (s in count) printf "%-8s %-12s %5d tests %8.1f s\n", preset, s, count[s], seconds[s] }' |
      sort -k5,5nr
  done
}

if command -v clang-format-19 >/dev/null; then
  echo "== format"
  scripts/format.sh --check || failed+=("format")
fi
test_preset release
test_preset dev

if [ "$long" = 1 ]; then
  scripts/fuzz.sh 60 || failed+=("fuzz")
  # GCC 12's ThreadSanitizer cannot map its shadow under the address randomisation of new kernels.
  test_preset tsan setarch "$(uname -m)" -R
  scripts/portable.sh || failed+=("portable")
fi

echo "== time by suite"
suite_times
for preset in "${presets[@]}"; do
  echo "== $preset"
  grep -A 200 'tests passed' "build/$preset/ctest.log" | grep -v '^$' || true
done
if [ "${#failed[@]}" -gt 0 ]; then
  printf 'FAILED: %s\n' "${failed[@]}" >&2
  exit 1
fi
