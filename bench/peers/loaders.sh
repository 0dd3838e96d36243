#!/usr/bin/env bash
# Compares Python data loaders: this package, PyTorch with torchvision, and DALI; and measures the overhead of Python.
#
#     RIDGELINE_TORCH_PYTHON=... [RIDGELINE_DALI_PYTHON=...] bench/peers/loaders.sh DIR [WORKLOAD ...]
#
# DIR has class folders of JPEGs; each is linked COPIES (32) times to make an epoch long. The workload cifar uses
# 32x32 images made from them, png and webp the same photos in these formats, segmentation masks of their sizes.
# WORKLOADs: by default all of loaders.py; `samples` is the group of samples other than image and class (plain floats
# detection segmentation dicts computed tables, 5 minutes). The environment of RIDGELINE_TORCH_PYTHON needs torch,
# torchvision and this package from scripts/wheel.sh. The workloads computed and tables are computed by Python, in
# processes on both sides; dicts, detection and segmentation run with samples by our threads and by processes, of
# which the better counts. CORES (2): number of cores of this package; PyTorch runs with half as many workers and with
# as many, of which the better counts. LESS=32 uses a 32nd of the images, as a quick trial. build/ridgeline, if it is
# built, runs the graph of `plain` without Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
photos=$(realpath "${1:?the folder with class folders}")
shift
python=${RIDGELINE_TORCH_PYTHON:?an interpreter with torch, torchvision and ridgeline}
pictures=(plain jitter randaug trivial blur eval cifar png webp)
samples=(floats dicts detection segmentation computed tables)
case ${1:-} in
  "") workloads=("${pictures[@]}" "${samples[@]}") ;;
  samples) workloads=(plain "${samples[@]}") ;;
  *) workloads=("$@") ;;
esac
cores=${CORES:-2}
work=${WORK:-$(mktemp -d)}
[[ -n ${WORK:-} ]] || trap 'rm -rf "$work"' EXIT
if [[ ! -d $work/photos ]]; then
  "$python" - "$photos" "$work" "${COPIES:-32}" <<'PY'
import os, pathlib, sys
from PIL import Image
photos, work, copies = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
(work / "masks").mkdir(parents=True)
for file in sorted(photos.glob("*/*")):
    for kind in ("photos", "small", "png", "webp"):
        (work / kind / file.parent.name).mkdir(parents=True, exist_ok=True)
    image = Image.open(file).convert("RGB")
    made = {kind: work / kind / file.parent.name / f"{file.stem}.{ending}"
            for kind, ending in (("small", "png"), ("png", "png"), ("webp", "webp"))}
    image.resize((32, 32)).save(made["small"])
    image.save(made["png"])
    image.save(made["webp"], quality=90)
    # Makes masks: regions by the brightness of the photo.
    image.convert("L").resize((24, 24)).point(lambda v: v // 16).resize(image.size, Image.NEAREST).save(
        work / "masks" / f"{file.stem}.png")
    for copy in range(copies):
        (work / "photos" / file.parent.name / f"{file.stem}_{copy}.jpg").symlink_to(file)
        for same in made.values() if copy else ():
            same.with_stem(f"{file.stem}_{copy}").symlink_to(same)
PY
fi
cat "$photos"/*/* >/dev/null  # into the page cache
one() {  # LOADER WORKLOAD WORKERS IMAGES [--processes]
  local interpreter=$python directory=$work/photos
  [[ $1 == dali ]] && interpreter=$RIDGELINE_DALI_PYTHON
  case $2 in
    cifar) directory=$work/small ;;
    png | webp) directory=$work/$2 ;;
  esac
  rm -rf "$work/cache"  # JPEG indices of an earlier run would speed up the first epoch
  XDG_CACHE_HOME=$work/cache taskset -c "0-$((cores - 1))" "$interpreter" bench/peers/loaders.py "$1" "$2" "$directory" --workers "$3" --images "$4" "${@:5}" \
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
  images=$((images * cores / 2 / ${LESS:-1}))
  half=$(((cores + 1) / 2))
  one ridgeline "$workload" "$cores" "$images" >>"$work/rows"
  case $workload in  # the better counts
    computed | tables) one ridgeline "$workload" "$half" "$images" >>"$work/rows" ;;
    dicts | detection | segmentation) one ridgeline "$workload" "$cores" "$images" --processes >>"$work/rows" ;;
  esac
  if [[ $workload == plain && -x build/ridgeline ]]; then one engine plain "$cores" "$images" >>"$work/rows"; fi
  for loader in torch torch-tensors; do
    case $workload in cifar | floats | dicts | detection | segmentation | computed | tables)
      [[ $loader == torch-tensors ]] && continue ;;
    esac
    for workers in "$half" "$cores"; do one "$loader" "$workload" "$workers" "$((images / 6))" >>"$work/rows"; done
  done
  if [[ $workload == plain && -n ${RIDGELINE_DALI_PYTHON:-} ]]; then one dali plain "$cores" "$images" >>"$work/rows"; fi
done
python3 bench/peers/loader_table.py "$work/rows"
