#!/usr/bin/env bash
# One training step of AlexNet, batch 128, fp32: this engine and PyTorch in turn on the same machine, and the ratio.
#
#     RIDGELINE_TORCH_PYTHON=/path/to/python bench/peers/step.sh [ROUNDS]
#
# The interpreter needs torch and torchvision (pip install torch torchvision). ROUNDS (default 3) pairs are run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=${RIDGELINE_TORCH_PYTHON:?set it to a Python that has torch and torchvision}
rounds=${1:-3}
results=$(mktemp)
trap 'rm -f "$results"' EXIT
for _ in $(seq "$rounds"); do
  build/ridgeline bench step --model alexnet_torchvision --batch_size 128 --json | tee -a "$results"
  # The malloc settings must be there before the interpreter starts.
  MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456 \
    "$python" bench/peers/torch_step.py --batch_size 128 | tee -a "$results"
done
"$python" - "$results" <<'PY'
import json, statistics, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
ours = [r["ms_per_step"] for r in rows if "isa" in r]
theirs = [r["ms_per_step"] for r in rows if "isa" not in r]
ratios = [t / o for o, t in zip(ours, theirs)]
print(f"ours {statistics.median(ours):.0f} ms, PyTorch {statistics.median(theirs):.0f} ms, "
      f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} pairs)")
PY
