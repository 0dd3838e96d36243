#!/usr/bin/env bash
# The input pipeline of ImageNet training: runs this engine and others alternately on the same machine and prints the
# ratios.
#
#     RIDGELINE_TORCH_PYTHON=... RIDGELINE_DALI_PYTHON=... RIDGELINE_TF_PYTHON=... RIDGELINE_MINDSPORE_PYTHON=... \
#       bench/peers/pipelines.sh DIR [CORES]
#
# DIR has class folders of JPEGs; each file is linked six times, in total at least 256 links, two batches. Systems whose
# interpreter is not given are left out. CORES, as for taskset: by default "0" and then "0,1". Each other system is
# timed three times on IMAGES (1536). Ours runs a single epoch three times, without JPEG indices, and five epochs three
# times, of which the first, which makes the indices, is not timed; both rates are printed. Results are medians, without
# start-up and the first batch.
#
# Large photos: three of 4032x2268 from a TFRecord, repeated 50 times. PACKA is the folder of test data (HACKING.md).
#
#     python bench/peers/records_to_folders.py OUT \
#       $(yes PACKA/tfrecord/mindspore-3-images/train-0000-of-0001.data | head -n 50)
#     IMAGES=512 bench/peers/pipelines.sh OUT 0,1
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
photos=$(realpath "${1:?the folder with class folders}")
cores=${2:-"0 0,1"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for class in "$photos"/*/; do
  mkdir -p "$work/photos/$(basename "$class")"
  for file in "$class"*; do
    for copy in 1 2 3 4 5 6; do
      name=$(basename "$file")
      ln -s "$file" "$work/photos/$(basename "$class")/${name%.*}_$copy.jpg"
    done
  done
done
cat "$photos"/*/* >/dev/null  # into the page cache
epoch=$((($(find "$work/photos" -type l | wc -l) + 127) / 128))  # batches, rounded up
declare -A python=([torchvision-pil]=${RIDGELINE_TORCH_PYTHON:-} [torchvision-tensor]=${RIDGELINE_TORCH_PYTHON:-}
  [dali-antialias]=${RIDGELINE_DALI_PYTHON:-} [dali]=${RIDGELINE_DALI_PYTHON:-} [tf.data]=${RIDGELINE_TF_PYTHON:-}
  [mindspore]=${RIDGELINE_MINDSPORE_PYTHON:-})
for set in $cores; do
  n=$(tr ',' '\n' <<<"$set" | wc -l)
  echo "== $n core(s): $set"
  : >"$work/rows"
  ours() {
    for _ in 1 2 3; do
      taskset -c "$set" build/ridgeline dataset bench --data_dir "$work/photos" --image_size 224 --batch_size 128 \
        --workers "$n" --epochs "$1" --warmup "$2" --json | tail -1 | sed "s/^{/{\"peer\":\"$3\",/" >>"$work/rows"
    done
  }
  ours 1 1 "ridgeline, one epoch"
  ours 5 "$epoch" "ridgeline, later epochs"
  for peer in torchvision-pil torchvision-tensor dali-antialias dali tf.data mindspore; do
    [[ -n ${python[$peer]} ]] || continue
    OMP_NUM_THREADS=1 taskset -c "$set" "${python[$peer]}" bench/peers/pipelines.py "$peer" "$work/photos" \
      --threads "$n" --images "${IMAGES:-1536}" 2>"$work/error" | grep '^{' >>"$work/rows" || { echo "$peer failed:"; tail -2 "$work/error"; }
  done
  python3 - "$work/rows" <<'PY'
import json, statistics, sys
runs = {}
for line in open(sys.argv[1]):
    row = json.loads(line)
    runs.setdefault(row["peer"], []).append(row["images_per_second"])
rates = {peer: statistics.median(values) for peer, values in runs.items()}
one, later = rates["ridgeline, one epoch"], rates["ridgeline, later epochs"]
print(f"{'':<26}{'images/s':>10}{'ours, one':>13}{'ours, later':>13}")
for peer, rate in rates.items():
    print(f"{peer:<26}{rate:>10.0f}{one / rate:>12.2f}x{later / rate:>12.2f}x")
PY
done
