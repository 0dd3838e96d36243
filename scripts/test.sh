#!/usr/bin/env bash
# Runs the tests of a preset that is built: scripts/test.sh release|debug|asan|tsan [ctest arguments].
# Tests that compare with another project's program skip unless its interpreter is named; a line says which do.
# Tests on real records read the folder RIDGELINE_TEST_DATA, which holds packA/ (HACKING.md, Test data), and skip
# without it; those on folders that are not quite what is expected read RIDGELINE_CASES likewise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

preset=${1:-release}
shift || true
if [[ -n ${RIDGELINE_TEST_DATA:-} ]]; then
  [[ -d $RIDGELINE_TEST_DATA/packA ]] || die "RIDGELINE_TEST_DATA=$RIDGELINE_TEST_DATA holds no packA/"
  say tests "preset $preset, real records from $RIDGELINE_TEST_DATA/packA"
else
  unset RIDGELINE_TEST_DATA  # for all tests, an empty variable is like an unset one
  say tests "preset $preset; RIDGELINE_TEST_DATA is not set: tests on real records skip"
fi
if [[ -n ${RIDGELINE_CASES:-} ]]; then
  [[ -d $RIDGELINE_CASES ]] || die "RIDGELINE_CASES=$RIDGELINE_CASES is no folder"
else
  unset RIDGELINE_CASES
  say tests "RIDGELINE_CASES is not set: tests on folders that are not quite what is expected skip"
fi
if [[ -x .venv/bin/python ]]; then export RIDGELINE_PYTHON=$PWD/.venv/bin/python; fi
# The variable of an interpreter, and the package that this must have.
oracles=(RIDGELINE_TORCH_PYTHON:torch RIDGELINE_ONNX_PYTHON:onnxruntime RIDGELINE_TENSORBOARD_PYTHON:tensorboard
  RIDGELINE_OPENCV_PYTHON:cv2)
missing=()
for oracle in "${oracles[@]}"; do
  name=${oracle%%:*} package=${oracle##*:}
  python=${!name:-}
  found="import importlib.util, sys; sys.exit(importlib.util.find_spec('$package') is None)"
  [[ -n $python ]] && "$python" -c "$found" 2>/dev/null || missing+=("$package ($name)")
done
if ((${#missing[@]})); then
  text=$(printf ', %s' "${missing[@]}")
  say tests "no interpreter with ${text:2}: comparisons with these skip"
fi
exec ctest --preset "$preset" "$@"
