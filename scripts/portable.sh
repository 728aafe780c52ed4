#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The binaries to copy to a machine on which nothing can be installed: they need an x86-64 Linux
# with glibc 2.36 or newer (Debian 12, Ubuntu 23.04), and a C++ compiler there to tune for its CPU, or
# NVRTC (or a cache filled elsewhere) to tune for its CUDA device.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/build.sh portable tilewright tilewright-runner tilewright-cuda-runner tilewright-nvrtc \
  tilewright-library
ctest --test-dir build/portable -R '^portable\.' --no-tests=error --output-on-failure
ls -l build/portable/bin/tilewright{,-runner,-cuda-runner,-nvrtc} build/portable/lib/libtilewright.so.*.*
