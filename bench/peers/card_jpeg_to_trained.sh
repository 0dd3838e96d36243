#!/usr/bin/env bash
# Training from JPEG files on a CUDA card, and its speed relative to the slower of step and data pipeline. For PyTorch,
# with its own loader and with this project's, see card_training.py.
#
#     RIDGELINE=build-cuda/ridgeline [MODELS="resnet50 alexnet_torchvision"] [BATCH=256] [STEPS=300] [COPIES=128]
#       bench/peers/card_jpeg_to_trained.sh DIR
#
# DIR has class folders of JPEGs; each file is linked COPIES times to make an epoch long. Uses bf16, random resized
# crops to 224, flips, and execution plans chosen by time. The speed of the step is that of `bench step`, of the data
# that of `dataset bench --raw` in later epochs, and of the training the median of its log lines without the first two.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
photos=$(realpath "${1:?the folder with class folders}")
ridgeline=$(realpath "${RIDGELINE:-build-cuda/ridgeline}")
batch=${BATCH:-256} steps=${STEPS:-300}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 bench/peers/linked_photos.py "$photos" "${COPIES:-128}" "$work/photos"
"$ridgeline" dataset bench --data_dir="$work/photos" --batch_size="$batch" --raw --epochs=3 --json >"$work/data"
for model in ${MODELS:-resnet50 alexnet_torchvision}; do
  "$ridgeline" bench step --model="$model" --batch_size="$batch" --precision=allow_mix_precision_bf16 --device=cuda \
    --tune=auto --steps=20 --json >"$work/step"
  "$ridgeline" train --data_dir="$work/photos" --model="$model" --batch_size="$batch" --mode=train --device=cuda \
    --precision_mode=allow_mix_precision_bf16 --tune=auto --max_epochs=100 --max_train_steps="$steps" \
    --iterations_per_loop=20 --save_summary_steps=20 --do_checkpoint=False --log_dir="$work/run" >"$work/log" 2>&1 ||
    { tail -n 3 "$work/log" >&2; exit 1; }
  python3 - "$model" "$work" <<'PY'
import json, pathlib, re, statistics, sys

model, work = sys.argv[1], pathlib.Path(sys.argv[2])
rates = [float(fps) for fps in re.findall(r"FPS: *([\d.]+)", (work / "run" / f"{model}_training.log").read_text())]
ours = statistics.median(rates[2:])
step = json.loads((work / "step").read_text())["images_per_second"]
data = json.loads((work / "data").read_text())["images_per_second"]
print(f"{model}: {ours:.0f} images/s (from {min(rates[2:]):.0f} to {max(rates[2:]):.0f}); step alone {step:.0f}, data alone "
      f"{data:.0f}: {ours / min(step, data):.2f} of the slower")
PY
  rm -rf "$work/run"
done
