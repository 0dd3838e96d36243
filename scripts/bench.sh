#!/usr/bin/env bash
# Times the compiled training step on random data, beside the machine's limit measured in the same run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for model in alexnet alexnet_torchvision; do
  build/ridgeline bench step --model "$model" --batch_size 128 --precision fp32 "$@"
done
if cmake --build --preset release --target help | grep -q '^benchmarks:'; then
  cmake --build --preset release --target benchmarks -j "$(nproc)"
  for program in build/bench_*; do [[ -x $program ]] && "$program"; done
fi
