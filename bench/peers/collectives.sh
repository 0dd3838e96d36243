#!/usr/bin/env bash
# Times all-reduce between processes of this machine in one run: ours over shared memory, ours over MPI and OpenMPI's
# own, and PyTorch's over gloo.
#
#     [RIDGELINE_BUILD=build] [RIDGELINE_TORCH_PYTHON=...] bench/peers/collectives.sh [RANKS] [MILLIONS_OF_FLOATS] [ROUNDS]
#
# RIDGELINE_BUILD is the folder of bench_collectives. Without mpirun, or an interpreter with torch, its row is left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
ranks=${1:-2} millions=${2:-61.1} rounds=${3:-7}
bench=${RIDGELINE_BUILD:-build}/bench_collectives
echo "== shared memory, $ranks ranks"
"$bench" "$ranks" "$millions" "$rounds"
if command -v mpirun >/dev/null; then
  echo "== $(mpirun --version | head -n 1), $ranks ranks"
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -np "$ranks" "$bench" 0 "$millions" \
    "$rounds"
fi
if [[ -n ${RIDGELINE_TORCH_PYTHON:-} ]]; then
  echo "== PyTorch, $ranks ranks"
  "$RIDGELINE_TORCH_PYTHON" bench/peers/gloo_all_reduce.py "$ranks" "$millions" "$rounds"
fi
