#!/usr/bin/env bash
# Times the compiled training step on random data and compares it with the machine's limits, measured in the same run;
# then runs those programs of bench/ that can be built. bench_decode reads photos of RIDGELINE_TEST_DATA, bench_infer
# the model file RIDGELINE_BENCH_MODEL (from ridgeline export); both are left out without their files.
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
    case $program in
      build/bench_decode)
        if [[ -d $photos ]]; then
          "$program" "$photos"
        else
          echo "$program needs photos: RIDGELINE_TEST_DATA names no folder with packA/imagenet-fullsize (HACKING.md, Test data)"
        fi
        ;;
      build/bench_infer)
        if [[ -f ${RIDGELINE_BENCH_MODEL:-} ]]; then
          "$program" "$RIDGELINE_BENCH_MODEL"
        else
          echo "$program needs a model file: RIDGELINE_BENCH_MODEL names none"
        fi
        ;;
      *) "$program" ;;
    esac
  done
fi
