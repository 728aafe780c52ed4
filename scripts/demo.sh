#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo: tunes the problems of @demo for about five minutes against the libraries that this
# machine has, and prints the table. Run again, it goes on where it stopped.
# Environment: BUDGET (such as 2m), FRESH=1 to start over. Arguments go to `tilewright tune`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tilewright=build/release/bin/tilewright
mkdir -p build/demo
if [ "${FRESH:-0}" = 1 ]; then rm -f build/demo/tuning.db*; fi
# Settings that slow OpenBLAS down (they work around old builds) would rig the comparison.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
exec "$tilewright" tune @demo --budget "${BUDGET:-5m}" --db build/demo/tuning.db \
  --summary build/demo/summary.json "$@"
