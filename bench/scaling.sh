#!/usr/bin/env bash
# Measures how training steps and the data engine scale with threads, compared with PyTorch in the same run and with the
# machine's own limits (multiply-adds, bf16 products, memory bandwidth, measured with each step).
#
#     [RIDGELINE=build/ridgeline] [RIDGELINE_TORCH_PYTHON=...] bench/scaling.sh [--out DIR] [--seconds 240]
#       [--threads 1,2,4,8,16] [--cases MODEL:BATCH:PRECISION,...] [--photos DIR] [--settings all|none|NAME,...]
#
# N threads run on N cores, one per core. --photos is a folder with class folders of JPEGs; without it the data engine
# is left out. Without RIDGELINE_TORCH_PYTHON (an interpreter with torch and torchvision) PyTorch is left out.
# --settings are memory placements to try with the largest number of threads, if numactl is installed (listed in
# bench/scaling/plan.py).
#
# DIR (build/scaling) gets rows.jsonl, one line per measurement; launches.jsonl, every launch of our steps with one
# thread and with the most; and table.md and curve.svg, rewritten after every row. The most important measurements come
# first, so that a run whose time (--seconds) ends is still useful.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 bench/scaling/measure.py "$@"
