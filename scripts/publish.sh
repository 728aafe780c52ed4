#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# publish.sh <name>: keeps the demo's results in results/<name> (tables, summary, raw trials, the
# command) and puts its table into README.md (readme_tables.sh). Run it after `make demo`, on the same machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
name=${1:?usage: scripts/publish.sh <name>, such as cpu-avx512-2c}
tilewright=build/release/bin/tilewright
database=build/demo/tuning.db
folder=results/$name
mkdir -p "$folder"

# The finished run prints itself again without measuring anything.
scripts/demo.sh --format md >"$folder/demo.md"
scripts/demo.sh --format csv >"$folder/demo.csv"
cp build/demo/summary.json "$folder/demo-summary.json"
"$tilewright" db show --db "$database" --format jsonl --limit 0 | gzip -9n >"$folder/demo-trials.jsonl.gz"
"$tilewright" wisdom export --db "$database" --output "$folder/wisdom.txt"
printf '%s\n' "make demo   # at commit $(git rev-parse --short HEAD), $(date -u +%Y-%m-%d)" >"$folder/command.txt"

scripts/readme_tables.sh
