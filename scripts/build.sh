#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh <preset> [target...]: configures and builds into build/<preset>. Uses ccache if present.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=$1
shift
options=(--log-level=WARNING)
if command -v ccache >/dev/null; then
  options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
echo "== build $preset"
cmake --preset "$preset" "${options[@]}"
cmake --build "build/$preset" --parallel "${JOBS:-$(nproc)}" ${1:+--target "$@"}
