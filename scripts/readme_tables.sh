#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Puts the published tables of results/ into README.md, each between its marks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# put_table <mark> <file>
put_table() {
  awk -v table="$2" -v first="<!-- begin: $1 -->" -v last="<!-- end: $1 -->" '
    $0 == first { print; print ""; while ((getline line < table) > 0) print line; print ""; skip = 1 }
    $0 == last { skip = 0 }
    !skip && $0 != first { print }' README.md > README.md.new
  mv README.md.new README.md
}
put_table results results/cpu-avx512-2c/demo.md
# In detail only the better layout of each side; that, and what the libraries do among themselves, stays in the file.
awk '/^The library against itself/ { exit }
     /^By decade/ { detail = 1 }
     !detail || !/^\| f16 \| (nn|tn) / { print }' results/h200/grid1000.md > README.h200.new
put_table h200 README.h200.new
rm README.h200.new
