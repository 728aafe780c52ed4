#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An `ncu` for tests (fake_ncu.h): lists metrics, runs what it is given between its options and
# writes a table for it in the tool's format. Every metric's value is its place among those asked
# for, the first 1; there are two kernels.
here=$(dirname "$0")
case "$1" in
  --version)
    echo "NVIDIA (R) Nsight Compute Command Line Profiler"
    echo "Version 2025.3.1.0 (build 36398880) (public-release)"
    exit 0 ;;
  --query-metrics)
    cat "$here/known"
    exit 0 ;;
  --query-metrics-collection)
    echo "launch__registers_per_thread  Counter register/thread  of a thread"
    exit 0 ;;
esac
echo "$@" > "$here/arguments"
metrics=
log=
while [ $# -gt 0 ]; do
  case "$1" in
    --metrics) metrics=$2; shift 2 ;;
    --log-file) log=$2; shift 2; break ;;
    --csv | --print-fp) shift ;;
    *) shift 2 ;;
  esac
done
mode=
word=
[ -f "$here/mode" ] && read -r mode word < "$here/mode"
if [ "$mode" = refuse ]; then
  case ",$metrics," in
    *",$word,"*)
      echo "==ERROR== Failed to find metric $word" > "$log"
      exit 1 ;;
  esac
fi
echo "==PROF== Connected to process 7 ($1)" > "$log"
if ! "$@"; then
  echo "==ERROR== The application returned an error code (1)." >> "$log"
  echo "==WARNING== No kernels were profiled." >> "$log"
  exit 1
fi
if [ "$mode" = perm ]; then
  echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU" \
    "Performance Counters on the target device 0." >> "$log"
  exit 1
fi
if [ "$mode" = none ]; then
  echo "==WARNING== No kernels were profiled." >> "$log"
  exit 0
fi
head='"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream",'
head=$head'"Block Size","Grid Size","Device","CC"'
unit='"","","","","","","","","","",""'
row='"7","runner","127.0.0.1","void k<(int)1, ""x"">(A, B)","1","13",'
row=$row'"(128, 1, 1)","(2, 1, 1)","0","9.0"'
values=
place=0
for name in $(echo "$metrics" | tr , ' '); do
  place=$((place + 1))
  head="$head,\"$name\""
  unit="$unit,\"%\""
  values="$values,\"$place.000000\""
done
{
  echo "==PROF== Disconnected from process 7"
  echo "$head"
  echo "$unit"
  echo "\"0\",$row$values"
  echo "\"1\",$row$values"
} >> "$log"
