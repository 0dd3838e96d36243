#!/usr/bin/env bash
# Other people's trainers from their own files, with their own loader and with this package's: losses, accuracies,
# images/s beside each other.
#
#     RIDGELINE_TORCH_PYTHON=... bench/peers/trainers.sh DATA CHECKOUTS [OPTIONS of trainers.py]
#
# DATA holds `train` and `val` (or `test`) with class folders of photos. CHECKOUTS holds folders vision, timm, lightning and
# transformers with checkouts of those projects; what is not there is left out, and so is what lacks a package. The
# interpreter's environment has torch, torchvision, this package, and for all of them timm's needs, lightning, torchmetrics,
# jsonargparse[signatures], transformers, accelerate, datasets, evaluate, scikit-learn. Two cores, nothing is downloaded.
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
