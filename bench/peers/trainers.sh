#!/usr/bin/env bash
# Runs unmodified training scripts of other projects with their own loader and with this package's, and compares losses,
# accuracies and images per second.
#
#     RIDGELINE_TORCH_PYTHON=... bench/peers/trainers.sh DATA CHECKOUTS [OPTIONS of trainers.py]
#
# DATA has `train` and `val` (or `test`) with class folders of photos. CHECKOUTS has checkouts of the projects in the
# folders vision, timm, lightning and transformers; missing ones are left out, and so are those that lack a package. The
# interpreter needs torch, torchvision and this package; to run all projects also timm's dependencies, lightning,
# torchmetrics, jsonargparse[signatures], transformers, accelerate, datasets, evaluate and scikit-learn. Uses two cores
# and downloads nothing.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
data=${1:?the folder with train and val}
checkouts=${2:?the folder with the checkouts}
shift 2
python=${RIDGELINE_TORCH_PYTHON:?an interpreter with torch, torchvision, ridgeline and what the trainers need}
given=()
for name in vision timm lightning transformers; do
  if [[ -d $checkouts/$name ]]; then given+=("--$name" "$checkouts/$name"); fi
done
exec "$python" "$here/trainers.py" "$data" "${given[@]}" "$@"
