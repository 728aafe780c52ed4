#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy-19 over src/, with the commands of the release build. Minutes, so not part of check.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/build.sh release
find src -name '*.cc' -print0 |
  xargs -0 -n 4 -P "${JOBS:-$(nproc)}" clang-tidy-19 -p build/release --quiet
