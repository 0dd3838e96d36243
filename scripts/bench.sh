#!/usr/bin/env bash
# Times the compiled training step on random data, beside the machine's limit measured in the same run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for model in alexnet alexnet_torchvision; do
  build/ridgeline bench step --model "$model" --batch_size 128 --precision fp32 "$@"
done
if cmake --build --preset release --target help | grep -q '^benchmarks:'; then
  cmake --build --preset release --target benchmarks -j "$(nproc)"
  photos=${RIDGELINE_TEST_DATA:-}/packA/imagenet-fullsize
  for program in build/bench_*; do
    [[ -f $program && -x $program ]] || continue
    if [[ $program != build/bench_decode ]]; then
      "$program"
    elif [[ -d $photos ]]; then
      "$program" "$photos"
    else
      echo "$program needs photos: RIDGELINE_TEST_DATA names no folder with packA/imagenet-fullsize (HACKING.md, Test data)"
    fi
  done
fi
