#!/usr/bin/env bash
# Measures one prediction on 64-bit Arm under qemu: size of the program, memory, instructions.
#
#   scripts/infer_aarch64.sh [MODEL.rdgm IMAGE]
#
# Without arguments: MobileNetV2 at 224 pixels, trained for one step by build/ridgeline, and a generated JPEG. The
# program is the example of the C interface, which loads the model, decodes the image and predicts on one thread;
# bench/qemu/counts.c counts. Fails if the stripped program exceeds 4 MB or memory exceeds 50 MB, for any model. Needs
# scripts/setup.sh --cross aarch64, and for memory and instructions Debian's qemu-user, since the static qemu of that
# set-up has no plug-ins.
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
