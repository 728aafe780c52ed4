#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# format.sh [--check]: clang-format-19 over every C++ file of ours, in place or only looking.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=(-i)
if [ "${1:-}" = --check ]; then mode=(--dry-run --Werror); fi
folders=()
for folder in include src tests bench examples; do
  if [ -d "$folder" ]; then folders+=("$folder"); fi
done
find "${folders[@]}" -path '*/golden/*' -prune -o \
  \( -name '*.cc' -o -name '*.h' -o -name '*.hpp' \) -print0 |
  xargs -0 -r clang-format-19 "${mode[@]}"
