#!/usr/bin/env bash
# Tests the wheel of scripts/wheel.sh as users get it, in a clean virtual environment without compiler and headers.
#
#   scripts/test_python.sh                 newest wheel for python3, in build/python-test-VERSION/, with numpy, Pillow,
#                                          mypy and basedpyright; one that is older than its sources is refused
#   scripts/test_python.sh PYTHON          for another interpreter, or for that of an environment that has PyTorch and
#                                          torchvision: then their tests run, too. The environment is not changed.
#   scripts/test_python.sh --aarch64 [3.11|3.13]
#                                          the newest wheel for 64-bit Arm, by Debian's Python of that version under qemu:
#                                          batches of a folder of pictures, trainings and graphs, without what takes an
#                                          emulated machine an hour or starts another interpreter
#   scripts/test_python.sh --if-built      for ctest: leaves with 77 (skipped) where no wheel of these sources is there
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

if_built=0
interpreter=
machine=$(uname -m)
for argument in "$@"; do
  case $argument in
    --if-built) if_built=1 ;;
    --aarch64) machine=aarch64 ;;
    -*) die "scripts/test_python.sh: unknown flag $argument (allowed: --if-built, --aarch64)" ;;
    *) interpreter=$argument ;;
  esac
done
emulated=0
if [[ $machine != "$(uname -m)" ]]; then
  emulated=1
  interpreter=$(scripts/foreign_python.sh "${interpreter:-3.11}")
fi
interpreter=${interpreter:-python3}
missing() {
  if ((if_built)); then echo "skipped: $*"; exit 77; fi
  die "$*"
}

version=$("$interpreter" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || missing "no interpreter $interpreter"
# The wheel of this version, or the one for 3.12 and later.
tag=cp${version/./}
((${version#3.} >= 12)) && tag=abi3
wheel=$(ls -t build/wheels/ridgeline-*"$tag"*_"$machine".whl 2>/dev/null | head -n 1) || true
[[ -n $wheel ]] || missing "no wheel for Python $version in build/wheels: scripts/wheel.sh makes one"
newer=$(find ridgeline bindings/shared bindings/python CMakeLists.txt pyproject.toml \
  -newer "$wheel" -type f ! -path '*/tests/*' ! -path '*/examples/*' ! -path '*/__pycache__/*' -print -quit)
[[ -z $newer ]] || missing "$wheel is older than $newer: scripts/wheel.sh makes another"

if ((emulated)); then
  work=$PWD/build/python-test-aarch64-$version
  rm -rf "$work"
  # Pinned wheels are for 3.11; other versions install what fits them. The host's pip unpacks for Arm.
  options=(--require-hashes -r scripts/requirements-tests-aarch64.txt)
  [[ $version == 3.11 ]] || options=(numpy Pillow)
  foreign=(--platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_17_aarch64
    --platform manylinux2014_aarch64 --python-version "$version" --implementation cp --abi "cp${version/./}" --abi abi3
    --abi none --only-binary :all: --no-deps --target "$work")
  python3 -m pip install --disable-pip-version-check --root-user-action=ignore -q "${foreign[@]}" "${options[@]}" ||
    missing "pip could not fetch numpy and Pillow for $machine (network?)"
  python3 -m pip install --disable-pip-version-check --root-user-action=ignore -q "${foreign[@]}" --no-index "$wheel"
  say python "$wheel under Python $version, emulated"
  # Without the tests that count threads: under qemu, threads end later than reported.
  cd bindings/python/tests
  PYTHONPATH=$work "$interpreter" -m unittest test_run.Batches test_last_batch test_bad_samples test_train.Training \
    test_function.Ops
  exit
fi

site=()
if "$interpreter" -c 'import torch' 2>/dev/null; then
  work=build/python-test-torch
  rm -rf "$work"
  "$interpreter" -m pip install --disable-pip-version-check -q --no-deps --no-index --target "$work" "$wheel"
  site=(env "PYTHONPATH=$PWD/$work")
  python=$interpreter
else
  work=build/python-test-$version
  python=$work/bin/python
  rm -rf "$work"
  "$interpreter" -m venv "$work" || missing "cannot make $work (Debian: apt-get install python3-venv)"
  # Pinned wheels are for Debian's Python; other versions install what fits them.
  options=(--no-deps --require-hashes -r scripts/requirements-tests.txt -r scripts/requirements-types.txt)
  [[ $version == 3.11 ]] || options=(numpy Pillow mypy basedpyright)
  "$work/bin/pip" install --disable-pip-version-check -q --only-binary :all: "${options[@]}" \
    >"$work/log" 2>&1 || missing "pip could not fetch numpy, Pillow, mypy and basedpyright (network?)"
  "$work/bin/pip" install --disable-pip-version-check -q --no-deps --no-index "$wheel"
fi
say python "$wheel under Python $version"
"${site[@]}" "$python" -m unittest discover -s bindings/python/tests
