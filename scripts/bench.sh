#!/usr/bin/env bash
# Times the compiled training step on random data, beside the machine's limit measured in the same run; then, where they
# can be built, the programs of bench/. bench_decode reads photos of RIDGELINE_TEST_DATA, bench_infer the model file that
# RIDGELINE_BENCH_MODEL names (ridgeline export writes one); each is left out where it has none.
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
