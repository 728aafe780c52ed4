#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# portable_test.sh <binary>: it needs no library but glibc's, and no glibc newer than Debian 12's.
set -euo pipefail
newest=2.36
binary=$1
glibc='^(libc|libm|libdl|libpthread|librt|libresolv)\.so\.[0-9]+$|^ld-linux-x86-64\.so\.2$'

mapfile -t needed < <(readelf -d "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ "${#needed[@]}" -gt 0 ] || { echo "$binary: no NEEDED entry; was it built?"; exit 1; }
foreign=$(printf '%s\n' "${needed[@]}" | grep -Ev "$glibc" || true)
[ -z "$foreign" ] || { echo "$binary needs more than glibc: $foreign"; exit 1; }

version=$(readelf -V "$binary" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -Vu | tail -n 1)
[ "$(printf '%s\n' "$version" "$newest" | sort -V | tail -n 1)" = "$newest" ] ||
  { echo "$binary needs glibc $version, newer than $newest"; exit 1; }
echo "$binary needs ${needed[*]} of glibc $version"
