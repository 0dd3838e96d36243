#!/usr/bin/env bash
# Training steps where the machine is not one's own: this engine and PyTorch in turn under the same conditions, images a
# second and the ratios.
#
#     [RIDGELINE=build/ridgeline] RIDGELINE_TORCH_PYTHON=... [ROUNDS=3] [STEPS=5] [MODEL=alexnet_torchvision]
#       [BATCH=32] [PRECISION=f32] bench/peers/busy.sh [CONDITION ...]
#
# Conditions, by default all:
#   alone       nothing else runs; a thread a core
#   threads     four times as many threads as cores
#   neighbour   other work beside: as many busy loops as there are cores
#   one_core    everything on the first core, with as many threads as the machine has cores
#
# A runtime that waits in a loop for its other threads loses by far more than its share in the last three.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
ridgeline=${RIDGELINE:-build/ridgeline}
torch=${RIDGELINE_TORCH_PYTHON:?an interpreter with torch and torchvision}
model=${MODEL:-alexnet_torchvision} batch=${BATCH:-32} precision=${PRECISION:-f32}
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
what=(--model "$model" --batch_size "$batch" --precision "$precision" --steps "${STEPS:-5}")
keeping=(env MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456)
one() {  # CONDITION SYSTEM COMMAND ...: one row of the results
  local row
  row=$("${@:3}" 2>/dev/null | grep '^{') || { echo "$1 $2 failed" >&2; return; }
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
    one "$condition" ridgeline "${prefix[@]}" "$ridgeline" bench step "${what[@]}" --json \
      --intra_op_parallelism_threads "$threads"
    one "$condition" torch "${prefix[@]}" "${keeping[@]}" "$torch" bench/peers/torch_step.py "${what[@]}" \
      --threads "$threads"
    stop_neighbours || true
  done
done
python3 bench/peers/step_table.py "$results"
