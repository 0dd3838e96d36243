#!/usr/bin/env bash
# Tests the CUDA device on this machine's card, with a time limit for each stage:
# scripts/device_check.sh [--recording] [STAGE...]
# Uses build-cuda (make cuda), or the folder RIDGELINE_BUILD. Rewrites the report,
# ${RIDGELINE_REPORT:-device_check.txt}, after each line. With --recording it uses the recording driver, for machines
# without a card. With RIDGELINE_CIFAR10, a folder of CIFAR-10's images (train/CLASS/*, test/CLASS/*), it trains five
# epochs on them on the card and on the CPU.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath -m "${RIDGELINE_BUILD:-$here/build-cuda}")
report=${RIDGELINE_REPORT:-device_check.txt}
check=$build/ridgeline_cuda_check
[[ -x $check ]] || { echo "error: $check is not there: make cuda" >&2; exit 1; }
: >"$report"
failed=0

first_losses_agree() {  # first_losses_agree LOG_DIR LOG_DIR
  local dir losses=()
  for dir in "$@"; do
    losses+=("$(grep -ohE '[^_]loss: +[0-9.]+' "$dir"/*_training.log | head -n 1 | grep -oE '[0-9.]+$')")
  done
  echo "${losses[*]}"
  awk -v a="${losses[0]}" -v b="${losses[1]}" 'BEGIN { exit !(a > 0 && b > 0 && a - b <= 0.001 && b - a <= 0.001) }'
}

# Resumes a run from the CPU on the card and back on the CPU, and compares the last loss with that of the CPU alone.
to_the_card_and_back() {
  local i device losses=()
  for i in 1 2 3; do
    device=cpu
    ((i == 2)) && device=cuda
    timeout 60 "$build/ridgeline" train "${run[@]}" --max_train_steps=$((i * steps)) --device=$device --log_dir="$work/trip" || return 1
  done
  timeout 60 "$build/ridgeline" train "${run[@]}" --max_train_steps=$((3 * steps)) --device=cpu --log_dir="$work/straight" || return 1
  for i in trip straight; do
    losses+=("$(grep -ohE '[^_]loss: +[0-9.]+' "$work/$i"/*_training.log | tail -n 1 | grep -oE '[0-9.]+$')")
  done
  echo "last losses: ${losses[*]}"
  awk -v a="${losses[0]}" -v b="${losses[1]}" 'BEGIN { exit !(a > 0 && b > 0 && a - b <= 0.01 * b && b - a <= 0.01 * b) }'
}

# Five epochs of ResNet-20; the accuracy must be within one point of the CPU's.
cifar_accuracies_agree() {
  local device accuracies=()
  for device in cuda cpu; do
    timeout 240 "$build/ridgeline" train --preset=resnet20_cifar --data_dir="$RIDGELINE_CIFAR10" --max_epochs=5 --device=$device \
      --log_dir="$work/cifar-$device" | tee "$work/cifar-$device.txt" || return 1
    accuracies+=("$(grep -oE '^validation: [0-9.]+' "$work/cifar-$device.txt" | grep -oE '[0-9.]+')")
  done
  echo "accuracies: ${accuracies[*]}"
  awk -v a="${accuracies[0]}" -v b="${accuracies[1]}" 'BEGIN { exit !(a > 0 && b > 0 && a - b <= 1 && b - a <= 1) }'
}

two_ranks() {  # two_ranks DEVICE [NAME]
  (cd "$work" && timeout 55 "$build/ridgeline" launch --ranks 2 -- train --model=resnet20 --synthetic=true --batch_size=$batch \
    --max_train_steps=$steps --warmup_epochs=0 --lr=0.01 --save_summary_steps=1 --device="$1" --log_dir="$work/ranks-${2:-$1}")
}

stage() {  # stage SECONDS NAME COMMAND...: runs one stage with its time limit and reports it
  local seconds=$1 name=$2 begin=$SECONDS
  shift 2
  echo "=== $name" | tee -a "$report"
  if [[ $(type -t "$1") == function ]]; then "$@"; else timeout "$seconds" "$@"; fi 2>&1 | tee -a "$report"
  local code=${PIPESTATUS[0]}
  ((code == 0)) || failed=1
  echo "=== $name: exit code $code, $((SECONDS - begin)) s" | tee -a "$report"
}

if command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader | tee -a "$report"
fi
stage 300 "kernels and libraries" "$check" "$@"
[[ ${1:-} == --recording ]] && export RIDGELINE_CUDA_DRIVER=recording
if [[ -x $build/ridgeline && -z ${2:-} ]]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  stage 20 "devices" "$build/ridgeline" info --devices
  models=(resnet20 alexnet_torchvision resnet18) steps=10 batch=8
  [[ ${1:-} == --recording ]] && models=(resnet20) steps=2 batch=2  # the host computes everything on this driver
  for model in "${models[@]}"; do
    size=(); [[ $model == resnet20 ]] || size=(--image_size=64)
    for device in cpu cuda; do
      stage 60 "$steps steps of $model, f32, $device" "$build/ridgeline" train --model=$model --synthetic=true \
        "${size[@]}" --batch_size=$batch --max_train_steps=$steps --warmup_epochs=0 --lr=0.01 --save_summary_steps=1 \
        --device=$device --log_dir="$work/$model-$device"
    done
    stage 5 "first loss of $model on both, within 0.001" first_losses_agree "$work/$model-cpu" "$work/$model-cuda"
  done
  run=(--model=resnet20 --synthetic=true --batch_size=$batch --warmup_epochs=0 --lr=0.01 --save_summary_steps=1)
  stage 240 "a run goes to the card and back by its checkpoints" to_the_card_and_back
  for device in cpu cuda:0; do
    stage 60 "two ranks of resnet20 on $device" two_ranks "$device"
  done
  stage 5 "first loss of two ranks on both, within 0.001" first_losses_agree "$work/ranks-cpu" "$work/ranks-cuda:0"
  cards=$("$build/ridgeline" info --devices | grep -c '^ *cuda:[0-9]')
  if [[ ${1:-} == --recording ]]; then
    RIDGELINE_CARDS_OVER=nccl stage 60 "two ranks, the moves of NCCL on the host" two_ranks cuda:0 card-to-card
  elif ((cards >= 2)); then
    RIDGELINE_CARDS_OVER=nccl stage 60 "two ranks with a card each, by NCCL" two_ranks cuda card-to-card
  else
    echo "=== two ranks with a card each, by NCCL: left out, there are $cards cards" | tee -a "$report"
  fi
  if [[ -d $work/ranks-card-to-card ]]; then
    stage 5 "first loss of them, within 0.001" first_losses_agree "$work/ranks-cpu" "$work/ranks-card-to-card"
  fi
  if [[ -n ${RIDGELINE_CIFAR10:-} ]]; then
    stage 480 "five epochs of CIFAR-10 on both, within a point" cifar_accuracies_agree
  else
    echo "=== RIDGELINE_CIFAR10 is not set: accuracies after five epochs are not compared" | tee -a "$report"
  fi
fi
((failed)) && echo "=== something failed" | tee -a "$report"
exit $failed
