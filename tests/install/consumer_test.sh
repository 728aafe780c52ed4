#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# consumer_test.sh <build folder> <source folder> <cc> <c++>: installs the library into a scratch
# prefix, moves it, and builds the examples as a user would: C with pkg-config, C++ with find_package.
# Exit 77 skips, with the reason.
set -euo pipefail
build=$1 source=$2 cc=$3 cxx=$4
command -v pkg-config >/dev/null || { echo "skipped: there is no pkg-config"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for component in runtime development; do
  cmake --install "$build" --prefix "$scratch/built" --component "$component" >"$scratch/log" ||
    { cat "$scratch/log"; exit 1; }
done
mv "$scratch/built" "$scratch/prefix"  # an installed tree can be moved
prefix=$scratch/prefix
library=$(dirname "$(find "$prefix" -name libtilewright.so)")
[ ! -e "$prefix/bin" ] || { echo "the components runtime and development bring programs"; exit 1; }
export PKG_CONFIG_PATH=$library/pkgconfig LD_LIBRARY_PATH=$library
# What this machine's user has imported is no part of the test.
export XDG_DATA_HOME=$scratch/data

echo "== pkg-config, C"
mapfile -t flags < <(pkg-config --cflags --libs tilewright | tr ' ' '\n' | sed '/^$/d')
for example in gemm from_cublas; do
  "$cc" -std=c99 -Wall -Wextra -Wpedantic -Werror "$source/examples/$example.c" "${flags[@]}" \
    -o "$scratch/$example"
  "$scratch/$example"
done
version=$(pkg-config --modversion tilewright)
"$scratch/gemm" | grep -qx "tilewright $version" ||
  { echo "pkg-config says $version, tw_version() something else"; exit 1; }
# The header is C++ as well, of any age.
echo '#include <tilewright/tilewright.h>' |
  "$cxx" -std=c++11 -Wall -Wextra -Wpedantic -Werror "${flags[@]}" -fsyntax-only -x c++ -

echo "== TILEWRIGHT_RECORD"
TILEWRIGHT_RECORD=$scratch/shapes.csv "$scratch/gemm" >"$scratch/log"
grep -qx '3,4,5,bf16,nn,f32,f32,.*,1' "$scratch/shapes.csv" ||
  { echo "the recorded problem is missing:"; cat "$scratch/shapes.csv"; exit 1; }

echo "== find_package, C and C++"
CC=$cc CXX=$cxx cmake -S "$source/examples" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror" >"$scratch/log" &&
  cmake --build "$scratch/build" >>"$scratch/log" || { cat "$scratch/log"; exit 1; }
"$scratch/build/gemm_cpp"
"$scratch/build/gemm" >/dev/null
"$scratch/build/from_cublas"
