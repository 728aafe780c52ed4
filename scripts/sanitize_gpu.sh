#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compute-sanitizer over a small set of kernels of both families: memcheck, racecheck, synccheck. Run
# it on a GPU host with the CUDA toolkit's compute-sanitizer, after building gpu_test.
#   scripts/sanitize_gpu.sh [folder of the binaries, default build/release/bin]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=${1:-build/release/bin}
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
filter=${FILTER:-CudaFamilies.Small}
command -v "$sanitizer" > /dev/null || { echo "compute-sanitizer is not in PATH" >&2; exit 3; }
runner=$(mktemp)
trap 'rm -f "$runner"' EXIT
status=0
for tool in memcheck racecheck synccheck; do
  log=$(mktemp)
  # Candidates run in the runner, so that is what is watched. Its questions to the driver may be
  # answered with an error (how many arguments a kernel has), which is no fault of a kernel.
  printf '#!/bin/sh\nexec %s --tool %s --report-api-errors no --error-exitcode 9 --log-file %s %s "$@"\n' \
    "$sanitizer" "$tool" "$log" "$(realpath "$bin/tilewright-cuda-runner")" > "$runner"
  chmod +x "$runner"
  TILEWRIGHT_CUDA_RUNNER=$runner "$bin/gpu_test" --gtest_filter="$filter" --gtest_brief=1 || status=1
  echo "$tool: $(grep -h 'SUMMARY' "$log" || echo 'no summary')"
  grep -q 'ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards' "$log" || { status=1; head -40 "$log"; }
  rm -f "$log"
done
exit $status
