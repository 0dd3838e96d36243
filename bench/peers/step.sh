#!/usr/bin/env bash
# Training steps on random data: runs this engine and others alternately on the same machine and prints images per
# second, the peak memory of each process, and the ratios.
#
#     [RIDGELINE=build/ridgeline] [RIDGELINE_TORCH_PYTHON=...] [RIDGELINE_TF_PYTHON=...] [ROUNDS=3]
#       [STEPS=7] [SYSTEMS="ridgeline torch tensorflow"] bench/peers/step.sh [CASE ...]
#
# CASE: MODEL:BATCH:PRECISION (f32 or bf16); curve:MODEL:PRECISION for batches 1 to 256; "curve" for AlexNet in both
# precisions; by default all of `cases` below. SYSTEMS: the systems to run, by default all; torch-compiled (or
# COMPILED=1) also runs compiled PyTorch, which needs a C++ compiler. TensorFlow runs only AlexNet. Interpreters that
# are not given are created in PEERS (default build/peers) with venv and pip, in the versions of docs/performance.md.
# For each system the best variant counts, by the median of its rounds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source bench/peers/keeping.sh
cases=(alexnet_torchvision:128:f32 alexnet_torchvision:128:bf16 vgg11:32:f32 vgg11:32:bf16 resnet18:32:f32
  resnet18:32:bf16 resnet50:32:f32 resnet50:32:bf16)
chosen=()
add_curve() {  # MODEL PRECISION ...
  local batch precision
  for batch in 1 2 4 8 16 32 64 128 256; do
    for precision in "${@:2}"; do chosen+=("$1:$batch:$precision"); done
  done
}
for argument in "$@"; do
  case $argument in
    curve) add_curve alexnet_torchvision f32 bf16 ;;
    curve:*:*) IFS=: read -r _ model precision <<<"$argument" && add_curve "$model" "$precision" ;;
    *) chosen+=("$argument") ;;
  esac
done
((${#chosen[@]})) || chosen=("${cases[@]}")
peers=${PEERS:-build/peers}
environment() {  # NAME PACKAGE ...: prints an interpreter that has the packages
  local python=$peers/$1/bin/python
  if [[ ! -x $python ]]; then
    python3 -m venv "$peers/$1" >&2
    "$peers/$1/bin/pip" install --quiet "${@:2}" >&2
  fi
  echo "$python"
}
systems=" ${SYSTEMS:-ridgeline torch tensorflow} ${COMPILED:+torch-compiled} "
runs() { [[ $systems == *" $1 "* ]]; }
ridgeline=${RIDGELINE:-build/ridgeline}
if runs torch || runs torch-compiled; then
  torch=${RIDGELINE_TORCH_PYTHON:-$(environment torch torch==2.15.0 torchvision==0.29.2)}
fi
if runs tensorflow; then tensorflow=${RIDGELINE_TF_PYTHON:-$(environment tensorflow tensorflow-cpu==2.21.0)}; fi
results=$(mktemp)
trap 'rm -f "$results" "$results.error"' EXIT
# Adds one row: the case, the system, and its output.
one() {  # CASE SYSTEM COMMAND ...
  local row
  if row=$(python3 bench/peers/peak.py "${@:3}" 2>"$results.error" | grep '^{'); then
    printf '%s\t%s\t%s\n' "$1" "$2" "$row" | tee -a "$results"
  else
    echo "$1 $2 failed: $(tail -n 1 "$results.error")" >&2
  fi
}
for _ in $(seq "${ROUNDS:-3}"); do
  for c in "${chosen[@]}"; do
    IFS=: read -r model batch precision <<<"$c"
    what=(--model "$model" --batch_size "$batch" --precision "$precision" --steps "${STEPS:-7}")
    if runs ridgeline; then one "$c" ridgeline "$ridgeline" bench step "${what[@]}" --json; fi
    if runs torch; then one "$c" torch "${keeping[@]}" "$torch" bench/peers/torch_step.py "${what[@]}"; fi
    if runs torch-compiled; then
      one "$c" torch-compiled "${keeping[@]}" "$torch" bench/peers/torch_step.py "${what[@]}" --compiled
    fi
    if runs tensorflow && [[ $model == alexnet_torchvision ]]; then
      one "$c" tensorflow "${keeping[@]}" "$tensorflow" bench/peers/tensorflow_step.py "${what[@]}"
    fi
  done
done
python3 bench/peers/step_table.py "$results"
