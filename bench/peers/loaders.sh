#!/usr/bin/env bash
# Python's data loaders side by side: this package, PyTorch with torchvision, DALI; and what Python costs.
#
#     RIDGELINE_TORCH_PYTHON=... [RIDGELINE_DALI_PYTHON=...] bench/peers/loaders.sh DIR [WORKLOAD ...]
#
# DIR holds class folders of JPEGs; each file is listed COPIES (32) times through links, so that one epoch is long. The
# workload cifar gets images of 32x32 made from them. WORKLOADs: all of loaders.py's by default. The environment of
# RIDGELINE_TORCH_PYTHON has torch, torchvision, and this package from scripts/wheel.sh. floats and dicts are samples of
# other schemas, computed and tables what Python computes in processes on both sides. PyTorch runs with one and with
# two workers, the better one counts. build/ridgeline, where it is built, runs the graph of `plain` without Python. Two
# cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
photos=$(realpath "${1:?the folder with class folders}")
shift
python=${RIDGELINE_TORCH_PYTHON:?an interpreter with torch, torchvision and ridgeline}
workloads=("$@")
((${#workloads[@]})) || workloads=(plain jitter randaug trivial blur eval cifar floats dicts computed tables)
work=${WORK:-$(mktemp -d)}
[[ -n ${WORK:-} ]] || trap 'rm -rf "$work"' EXIT
if [[ ! -d $work/photos ]]; then
  "$python" - "$photos" "$work" "${COPIES:-32}" <<'PY'
import os, pathlib, sys
from PIL import Image
photos, work, copies = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
for file in sorted(photos.glob("*/*")):
    for kind in ("photos", "small"):
        (work / kind / file.parent.name).mkdir(parents=True, exist_ok=True)
    small = work / "small" / file.parent.name / f"{file.stem}.png"
    Image.open(file).convert("RGB").resize((32, 32)).save(small)
    for copy in range(copies):
        (work / "photos" / file.parent.name / f"{file.stem}_{copy}.jpg").symlink_to(file)
        if copy:
            (work / "small" / file.parent.name / f"{file.stem}_{copy}.png").symlink_to(small)
PY
fi
cat "$photos"/*/* >/dev/null  # into the page cache
one() {  # LOADER WORKLOAD WORKERS [IMAGES]
  local interpreter=$python directory=$work/photos
  [[ $1 == dali ]] && interpreter=$RIDGELINE_DALI_PYTHON
  [[ $2 == cifar ]] && directory=$work/small
  rm -rf "$work/cache"  # JPEG indices of an earlier run would make its first epoch a later one
  XDG_CACHE_HOME=$work/cache taskset -c 0,1 "$interpreter" bench/peers/loaders.py "$1" "$2" "$directory" --workers "$3" --images "$4" \
    2>"$work/error" | grep '^{' || { echo "$1 $2 failed:" >&2; tail -n 2 "$work/error" >&2; }
}
: >"$work/rows"
for workload in "${workloads[@]}"; do
  case $workload in
    cifar) images=24576 ;;
    blur) images=768 ;;
    computed) images=12288 ;;
    tables) images=393216 ;;
    *) images=3072 ;;
  esac
  one ridgeline "$workload" 2 "$images" >>"$work/rows"
  case $workload in computed | tables) one ridgeline "$workload" 1 "$images" >>"$work/rows" ;; esac  # the better counts
  if [[ $workload == plain && -x build/ridgeline ]]; then one engine plain 2 "$images" >>"$work/rows"; fi
  for loader in torch torch-tensors; do
    case $workload in cifar | floats | dicts | computed | tables) [[ $loader == torch-tensors ]] && continue ;; esac
    for workers in 1 2; do one "$loader" "$workload" "$workers" "$((images / 6))" >>"$work/rows"; done
  done
  if [[ $workload == plain && -n ${RIDGELINE_DALI_PYTHON:-} ]]; then one dali plain 2 "$images" >>"$work/rows"; fi
done
python3 bench/peers/loader_table.py "$work/rows"
