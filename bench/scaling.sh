#!/usr/bin/env bash
# How training steps and the data engine scale with threads, beside PyTorch in the same run and beside what the machine
# itself gains (multiply-adds, bf16 products, memory, measured with each step).
#
#     [RIDGELINE=build/ridgeline] [RIDGELINE_TORCH_PYTHON=...] bench/scaling.sh [--out DIR] [--seconds 240]
#       [--threads 1,2,4,8,16] [--cases MODEL:BATCH:PRECISION,...] [--photos DIR] [--settings all|none|NAME,...]
#
# N threads run on N cores, a thread a core. --photos holds class folders of JPEGs; without it the data engine is left
# out, without RIDGELINE_TORCH_PYTHON (an interpreter with torch and torchvision) PyTorch is. --settings are places of
# memory that are tried with the most threads, where numactl is installed (bench/scaling/plan.py lists them).
#
# DIR (build/scaling) gets rows.jsonl, a line a measurement; launches.jsonl, every launch of our steps with one thread
# and with most; table.md and curve.svg, which are written again behind every row. What the seconds do not allow is left
# out, the most telling comes first: a run that is cut off tells what it has.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 bench/scaling/measure.py "$@"
