#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# exports_test.sh <library> <source folder>: the library shows the functions of its header and nothing
# else, and needs no library that its users may lack or hold in another version.
set -euo pipefail
library=$1 source=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
  sort >"$scratch/library"
grep '^TW_API' "$source/include/tilewright/tilewright.h" | grep -o 'tw_[a-z_]*(' | tr -d '(' |
  sort >"$scratch/header"
sed -n 's/^ *\(tw_[a-z_]*\);$/\1/p' "$source/src/runtime/exports.map" | sort >"$scratch/map"
for other in header map; do
  diff "$scratch/$other" "$scratch/library" ||
    { echo "^ the $other (<) and the library (>) differ"; exit 1; }
done

# fmt is part of the library where TILEWRIGHT_PORTABLE makes it so.
allowed='^(libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s|libfmt|ld-linux-x86-64)\.so(\.[0-9]+)*$'
mapfile -t needed < <(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ "${#needed[@]}" -gt 0 ] || { echo "$library: no NEEDED entry; was it built?"; exit 1; }
foreign=$(printf '%s\n' "${needed[@]}" | grep -Ev "$allowed" || true)
[ -z "$foreign" ] || { echo "$library needs more than it may: $foreign"; exit 1; }
soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
major=$(sed -n 's/^#define TW_VERSION_MAJOR //p' "$source/include/tilewright/tilewright.h")
[ "$soname" = "libtilewright.so.$major" ] || { echo "SONAME $soname, version $major"; exit 1; }
echo "$(wc -l <"$scratch/library") functions; needs ${needed[*]}; $(stat -Lc %s "$library") bytes"
