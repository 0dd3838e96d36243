#!/usr/bin/env bash
# Training from JPEG files: this engine and PyTorch on the same cores, and how close each comes to the limit given by
# its step and its data pipeline. AlexNet (torchvision's), random resized crops to 224, flips. PyTorch's step and malloc
# settings are those of step.sh.
#
#     RIDGELINE_TORCH_PYTHON=... [RIDGELINE=build/ridgeline] [PRECISIONS="f32 bf16"] [BATCH=128] [STEPS=14]
#       [ROUNDS=1] bench/peers/jpeg_to_trained.sh DIR
#
# DIR has class folders of JPEGs; each file is linked COPIES (16) times to make an epoch long. Steps are timed from the
# third on. PyTorch runs with its own loader with zero, one and two workers, of which the best counts, and with this
# project's loader if its interpreter has the package (scripts/wheel.sh). The limit assumes that step and data run one
# after the other on all cores: 1 / (step seconds per image + data seconds per image), measured separately by `bench
# step` and `dataset bench --raw` in later epochs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source bench/peers/keeping.sh
photos=$(realpath "${1:?the folder with class folders}")
ridgeline=$(realpath "${RIDGELINE:-build/ridgeline}")
python=${RIDGELINE_TORCH_PYTHON:?an interpreter with torch and torchvision}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 bench/peers/linked_photos.py "$photos" "${COPIES:-16}" "$work/photos"
steps=${STEPS:-14} batch=${BATCH:-128}
declare -A mode=([f32]=must_keep_origin_dtype [bf16]=allow_mix_precision_bf16)
for _ in $(seq "${ROUNDS:-1}"); do
  for precision in ${PRECISIONS:-f32 bf16}; do
    "$ridgeline" train --data_dir="$work/photos" --model=alexnet_torchvision --batch_size="$batch" --mode=train \
      --max_train_steps="$steps" --iterations_per_loop=2 --save_summary_steps=2 --do_checkpoint=False \
      --precision_mode="${mode[$precision]}" --log_dir="$work/run" >"$work/log" 2>&1 ||
      { tail -n 3 "$work/log" >&2; exit 1; }
    "$ridgeline" bench step --model=alexnet_torchvision --batch_size="$batch" --precision="$precision" --steps=7 \
      --json >"$work/step"
    "$ridgeline" dataset bench --data_dir="$work/photos" --batch_size="$batch" --raw --epochs=3 --json >"$work/data"
    "${keeping[@]}" "$python" bench/peers/torch_training.py "$work/photos" --models alexnet --batch_size "$batch" \
      --steps "$steps" --workers 0 1 2 --precision "$precision" --speed_only >"$work/torch"
    python3 - "$precision" "$work" "$steps" <<'PY'
import json, re, statistics, sys

precision, work, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
lines = re.findall(r"step: *(\d+) .*FPS: *([\d.]+)", open(f"{work}/run/alexnet_torchvision_training.log").read())
ours = statistics.harmonic_mean([float(fps) for step, fps in lines if int(step) > 2])
step = json.load(open(f"{work}/step"))["images_per_second"]
data = json.load(open(f"{work}/data"))["images_per_second"]
limit = 1 / (1 / step + 1 / data)
_, with_ours, theirs, _ = open(f"{work}/torch").read().splitlines()[-1].split()
print(f"{precision}: {ours:.1f} images/s; step alone {step:.1f}, data alone {data:.0f}, so {limit:.1f} at most: "
      f"{ours / limit:.2f} of it; PyTorch {float(theirs):.1f} with its loader ({ours / float(theirs):.2f}x)"
      + ("" if with_ours == "-" else f", {float(with_ours):.1f} with this project's ({ours / float(with_ours):.2f}x)"))
PY
    rm -rf "$work/run"
  done
done
