#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh [seconds]: builds every fuzzer and runs each that long (60 s unless told), from the seeds
# in tests/fuzz/corpus/<name>. Prints the executions; fails on the first finding, whose input stays
# in build/fuzz/findings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
scripts/build.sh fuzz fuzzers
findings=build/fuzz/findings
mkdir -p "$findings"
for fuzzer in build/fuzz/bin/fuzz_*; do
  name=$(basename "$fuzzer")
  grown=build/fuzz/corpus/$name  # what libFuzzer adds stays out of the source tree
  mkdir -p "$grown"
  seeds=()
  if [ -d "tests/fuzz/corpus/${name#fuzz_}" ]; then seeds=("tests/fuzz/corpus/${name#fuzz_}"); fi
  log=build/fuzz/$name.log
  if ! "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
    -print_final_stats=1 -artifact_prefix="$findings/$name-" "$grown" "${seeds[@]}" >"$log" 2>&1; then
    tail -n 60 "$log"
    echo "$name: a finding; run '$fuzzer <the input in $findings>' to see it again" >&2
    exit 1
  fi
  echo "$name: $(awk '/stat::number_of_executed_units/ { print $2 }' "$log") executions in ${seconds} s, no finding"
done
