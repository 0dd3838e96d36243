#!/usr/bin/env bash
# Training steps on a shared machine: runs this engine and PyTorch alternately under the same conditions and prints
# images per second, their ratios, memory and processor time.
#
#     [RIDGELINE=build/ridgeline] RIDGELINE_TORCH_PYTHON=... [ROUNDS=3] [STEPS=5] [MODEL=alexnet_torchvision]
#       [BATCH=32] [PRECISION="f32 bf16"] bench/peers/busy.sh [CONDITION ...]
#
# Conditions, by default all:
#   alone       nothing else runs; one thread per core
#   threads     four times as many threads as cores
#   neighbour   other load: as many busy loops as there are cores
#   one_core    everything on the first core, with as many threads as the machine has cores
#
# A runtime whose threads wait in busy loops loses far more than its share in the last three conditions and needs more
# processor time for the same steps. The table has the processor seconds of the whole process, including its start, and
# in brackets their share of cores x wall time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source bench/peers/keeping.sh
ridgeline=${RIDGELINE:-build/ridgeline}
torch=${RIDGELINE_TORCH_PYTHON:?an interpreter with torch and torchvision}
model=${MODEL:-alexnet_torchvision} batch=${BATCH:-32} precisions=${PRECISION:-f32}
conditions=("$@")
((${#conditions[@]})) || conditions=(alone threads neighbour one_core)
cores=$(nproc)
results=$(mktemp)
neighbours=()
stop_neighbours() {
  ((${#neighbours[@]})) && kill "${neighbours[@]}" && wait "${neighbours[@]}" 2>/dev/null
  neighbours=()
}
trap 'stop_neighbours || true; rm -f "$results"' EXIT
one() {  # CONDITION SYSTEM COMMAND ...: adds one row to the results
  local row
  row=$("${prefix[@]}" python3 bench/peers/peak.py "${@:3}" 2>/dev/null | grep '^{') ||
    { echo "$1 $2 failed" >&2; return; }
  printf '%s\t%s\t%s\n' "$model:$batch:$precision:${1//_/ }" "$2" "$row" >>"$results"
}
for _ in $(seq "${ROUNDS:-3}"); do
  for condition in "${conditions[@]}"; do
    threads=$cores prefix=()
    case $condition in
      alone) ;;
      threads) threads=$((4 * cores)) ;;
      neighbour)
        for _ in $(seq "$cores"); do
          (while :; do :; done) &
          neighbours+=($!)
        done
        ;;
      one_core) prefix=(taskset -c "$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')") ;;
      *) echo "unknown condition '$condition' (allowed: alone, threads, neighbour, one_core)" >&2 && exit 2 ;;
    esac
    for precision in $precisions; do
      what=(--model "$model" --batch_size "$batch" --precision "$precision" --steps "${STEPS:-5}")
      one "$condition" ridgeline "$ridgeline" bench step "${what[@]}" --json --intra_op_parallelism_threads "$threads"
      one "$condition" torch "${keeping[@]}" "$torch" bench/peers/torch_step.py "${what[@]}" --threads "$threads"
    done
    stop_neighbours || true
  done
done
python3 bench/peers/step_table.py "$results"
