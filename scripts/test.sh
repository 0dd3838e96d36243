#!/usr/bin/env bash
# Runs the tests of a preset that is built: scripts/test.sh release|debug|asan|tsan [ctest arguments].
# Tests on real records read the folder RIDGELINE_TEST_DATA (it holds packA/) and skip without it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

preset=${1:-release}
shift || true
if [[ -n ${RIDGELINE_TEST_DATA:-} ]]; then
  [[ -d $RIDGELINE_TEST_DATA/packA ]] || die "RIDGELINE_TEST_DATA=$RIDGELINE_TEST_DATA holds no packA/"
  say tests "preset $preset, real records from $RIDGELINE_TEST_DATA/packA"
else
  unset RIDGELINE_TEST_DATA  # set to nothing is not set, for every test
  say tests "preset $preset; RIDGELINE_TEST_DATA is not set: tests on real records skip"
fi
if [[ -x .venv/bin/python ]]; then export RIDGELINE_PYTHON=$PWD/.venv/bin/python; fi
exec ctest --preset "$preset" "$@"
