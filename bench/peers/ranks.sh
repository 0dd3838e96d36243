#!/usr/bin/env bash
# Training on several ranks of one core each: runs this engine and PyTorch's DistributedDataParallel over gloo
# alternately and prints images per second of one rank and of RANKS, and their ratios.
#
#     [RIDGELINE=build/ridgeline] RIDGELINE_TORCH_PYTHON=... [ROUNDS=3] [STEPS=7] bench/peers/ranks.sh [MODEL] [BATCH] [RANKS]
#
# By default alexnet_torchvision, 32 images per rank, 2 ranks. Results are medians over the steps after the second one,
# then over the rounds. Needs as many cores as ranks; rank i of both systems runs on core i.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source bench/peers/keeping.sh
model=${1:-alexnet_torchvision} batch=${2:-32} ranks=${3:-2}
steps=${STEPS:-7} rounds=${ROUNDS:-3}
ridgeline=$(realpath "${RIDGELINE:-build/ridgeline}")
torch=${RIDGELINE_TORCH_PYTHON:?names an interpreter with torch and torchvision}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ours() {  # RANKS: images per second
  local logs=$work/$(date +%s%N)
  local train=("train" --synthetic=True --mode=train "--model=$model" "--batch_size=$batch"
    "--max_train_steps=$((steps + 2))" --save_summary_steps=1 --iterations_per_loop=1 --do_checkpoint=False
    --intra_op_parallelism_threads=1 "--log_dir=$logs")
  if (($1 == 1)); then
    taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')" "$ridgeline" "${train[@]}" >"$logs.log" 2>&1
  else
    "$ridgeline" launch --ranks="$1" --results="$logs.results" -- "${train[@]}" --hcom_parallel=True >"$logs.log" 2>&1
  fi || { tail -n 3 "$logs.log" >&2; return 1; }
  python3 - "$logs/metrics.jsonl" <<'PYTHON'
import json, statistics, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
speeds = [line["images_per_second"] for line in lines if line.get("kind") == "train"]
print(statistics.median(speeds[2:]))
PYTHON
}
theirs() {
  "${keeping[@]}" "$torch" bench/peers/torch_ddp.py --ranks "$1" --model "$model" --batch_size "$batch" --steps "$steps" |
    python3 -c 'import json, sys; print(json.loads(sys.stdin.read())["images_per_second"])'
}

for _ in $(seq "$rounds"); do
  for n in 1 "$ranks"; do
    for system in ours theirs; do
      speed=$("$system" "$n")
      printf '%s\t%s\t%s\n' "$system" "$n" "$speed" | tee -a "$work/speeds" >&2
    done
  done
done
python3 - "$work/speeds" "$ranks" "$model" "$batch" <<'PYTHON'
import statistics, sys
speeds = {}
for line in open(sys.argv[1]):
    system, ranks, speed = line.split("\t")
    speeds.setdefault((system, int(ranks)), []).append(float(speed))
median = {key: statistics.median(values) for key, values in speeds.items()}
print(f"{sys.argv[3]}, {sys.argv[4]} images a rank, one core a rank; images per second")
print("| ranks | ridgeline | PyTorch (DDP over gloo) | ratio |\n|---|---|---|---|")
for n in sorted({key[1] for key in median}):
    ours, theirs = median["ours", n], median["theirs", n]
    print(f"| {n} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} |")
PYTHON
