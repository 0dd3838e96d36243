#!/usr/bin/env bash
# Compares the Python package with other loaders, for docs/data.md and docs/python.md: all workloads with PyTorch (PIL
# images and tensors) and DALI, and training in PyTorch with either loader. About 15 minutes on two idle cores.
#
#     RIDGELINE_TORCH_PYTHON=... [RIDGELINE_DALI_PYTHON=...] bench/peers/compare.sh DIR [OUT.md]
#
# DIR has class folders of JPEGs. Uses the newest wheel of scripts/wheel.sh for that Python, unpacked next to it. Prints
# Markdown and writes it to OUT.md, if given. Exits with 1 if the loss curves of the two loaders differ.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source bench/peers/keeping.sh
source scripts/say.sh
photos=$(realpath "${1:?the folder with class folders}")
out=${2:-/dev/null}
python=${RIDGELINE_TORCH_PYTHON:?an interpreter with torch and torchvision}
version=$("$python" -c 'import sys; print("%d%d" % sys.version_info[:2])')
wheel=$(ls -t build/wheels/ridgeline-*"cp$version"*.whl build/wheels/ridgeline-*abi3*.whl 2>/dev/null | head -n 1) || true
[[ -n $wheel ]] || die "no wheel for Python $version in build/wheels: scripts/wheel.sh makes one"
WORK=$(mktemp -d)
export WORK
trap 'rm -rf "$WORK"' EXIT
"$python" -m pip install --disable-pip-version-check -q --no-deps --no-index --target "$WORK/package" "$wheel"
export PYTHONPATH=$WORK/package

bench/peers/loaders.sh "$photos" >&2
status=0
"${keeping[@]}" taskset -c 0,1 "$python" bench/peers/torch_training.py "$photos" --workers 0 1 2 --steps 20 >"$WORK/training" || status=$?
cat "$WORK/training" >&2
{
  lscpu | sed -n 's/^Model name: */Machine: /p'
  "$python" -c 'import torch, torchvision; print(f"PyTorch {torch.__version__}, torchvision {torchvision.__version__}")'
  echo
  python3 bench/peers/loader_table.py --markdown "$WORK/rows" "$WORK/training"
} | tee "$out"
exit $status
