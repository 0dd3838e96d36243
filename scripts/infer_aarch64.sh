#!/usr/bin/env bash
# What one prediction takes on 64-bit Arm, measured under qemu: bytes of the program, memory, instructions.
#
#   scripts/infer_aarch64.sh [MODEL.rdgm IMAGE]
#
# Without arguments: MobileNetV2, trained for a step by build/ridgeline, at 224 pixels, and a drawn JPEG. The program is
# the example of the C interface, which loads the model, decodes the picture and predicts, on one thread; qemu's counters
# are those of bench/qemu/counts.c. Fails beyond 4 MB stripped and beyond 50 MB of memory, whatever the model weighs.
# Needs scripts/setup.sh --cross aarch64, and for memory and instructions Debian's qemu-user: the static qemu of that
# set-up takes no plug-ins.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

(($# == 0 || $# == 2)) || die "usage: scripts/infer_aarch64.sh [MODEL.rdgm IMAGE]"
scripts/build.sh aarch64 example_c_classify
program=build-aarch64/bindings/c/example_c_classify
scripts/infer_size.sh $program
qemu=$(command -v qemu-aarch64) || { say infer "no qemu-aarch64 (Debian: qemu-user): memory and instructions left out"; exit 0; }

work=$PWD/build-aarch64/infer
mkdir -p "$work"
log=$work/log
if (($#)); then
  model=$1 image=$2
else
  model=$work/mobilenet_v2.rdgm
  if [[ ! -f $model ]]; then
    [[ -x build/ridgeline ]] || die "no build/ridgeline, which makes the model: scripts/build.sh release ridgeline"
    step build/ridgeline dataset make shapes --out="$work/shapes" --train=20 --val=10
    step build/ridgeline train --data_dir="$work/shapes" --model=mobilenet_v2 --mode=train --batch_size=2 \
      --max_train_steps=1 --log_dir="$work/run"
    step build/ridgeline export --checkpoint_dir="$work/run" --out="$model"
  fi
  image=$(find "$work/shapes/val" -name '*.jpg' | sort | head -n 1)
fi

step cc -O2 -shared -fPIC bench/qemu/counts.c -o "$work/counts.so"
step taskset -c "$(taskset -pc $$ | grep -oE '[0-9]+' | tail -n 1)" "$qemu" -L .deps/aarch64/sysroot \
  -plugin "$work/counts.so" -d plugin $program "$model" "$image"
instructions=$(sed -n 's/^instructions: //p' "$log") memory=$(sed -n 's/^memory: \([0-9]*\) kB.*/\1/p' "$log")
[[ -n $instructions && -n $memory ]] || die "qemu counted nothing (log: $log)"
say infer "$model, $(($(stat -c %s "$model") / 1000)) kB, $image: $((instructions / 1000000)) million instructions, $memory kB of memory"
((memory <= 50000)) || die "a prediction touched $memory kB, more than 50,000"
