#!/usr/bin/env bash
# Builds the Python package as a wheel with all libraries: build/wheels/ridgeline-*.whl.
#
#   scripts/wheel.sh             for the python3 found first
#   scripts/wheel.sh PYTHON      for that interpreter; from 3.12 on the wheel is for all later versions, too
#   scripts/wheel.sh --manylinux [x86_64|aarch64] [PYTHON]
#                                a wheel for others' systems: manylinux_2_28, with glibc 2.28 and all later ones. The same
#                                objects are linked with what scripts/portable_libraries.sh makes. For aarch64 they are
#                                cross-compiled, in build-python-aarch64 (scripts/setup.sh --cross aarch64)
#   scripts/wheel.sh --from-sdist [PYTHON]
#                                as whoever has the source distribution alone builds it: build/wheels/ridgeline-*.tar.gz is
#                                made, unpacked beside the checkout, and the wheel is built from that
#   scripts/wheel.sh --develop [PYTHON]
#                                no wheel: the package in build-python/package, to be put on PYTHONPATH. Its Python files
#                                are those of the checkout; the extension is built where something of it has changed.
#
# Needs the compiler and Debian packages of scripts/setup.sh. Tools from PyPI, pinned and checked by hash in
# scripts/requirements-wheel.txt, are installed into a virtual environment below build/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

from_sdist=0 develop=0 portable='' interpreter=python3
while (($#)); do
  case $1 in
    --from-sdist) from_sdist=1 ;;
    --develop) develop=1 ;;
    --manylinux)
      portable=x86_64
      if [[ ${2:-} == x86_64 || ${2:-} == aarch64 ]]; then portable=$2; shift; fi
      ;;
    -*) die "scripts/wheel.sh: unknown flag $1 (allowed: --manylinux, --from-sdist, --develop)" ;;
    *) interpreter=$1 ;;
  esac
  shift
done
((from_sdist + develop + (${#portable} > 0) <= 1)) ||
  die "scripts/wheel.sh: one of --manylinux, --from-sdist and --develop is meant"
begin=$SECONDS
version=$("$interpreter" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || die "no interpreter $interpreter"
"$interpreter" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "Python $version: 3.11 or later is needed"
work=build/wheel-$version
venv=$work/venv
mkdir -p "$work"

if ! cmp -s scripts/requirements-wheel.txt "$venv/requirements.txt"; then
  say wheel "fetching the tools for Python $version from PyPI"
  rm -rf "$venv"
  "$interpreter" -m venv "$venv" || die "cannot make $venv (Debian: apt-get install python3-venv)"
  "$venv/bin/pip" install --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -q \
    -r scripts/requirements-wheel.txt >"$work/log" 2>&1 || { tail -n 3 "$work/log" >&2; die "pip could not fetch the tools"; }
  cp scripts/requirements-wheel.txt "$venv/requirements.txt"
fi

if ((develop)); then
  # Configures from nothing: cached paths of another interpreter would be mixed with this one's.
  cmake --fresh --preset python -DPython_EXECUTABLE="$PWD/$venv/bin/python" >"$work/log" 2>&1 ||
    { tail -n 10 "$work/log" >&2; die "the build cannot be configured (whole log: $work/log)"; }
  cmake --build --preset python --target _core stubs example_train_resumed
  say develop "PYTHONPATH=$PWD/build-python/package (needs NumPy), $(duration $((SECONDS - begin)))"
  exit
fi

# The build does not use the network: all tools are in the environment.
rm -rf "$work/raw" "$work/repaired" "$work/source"
mkdir -p build/wheels
source=.
if ((from_sdist)); then
  mkdir -p "$work/source"
  "$venv/bin/python" -c 'import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))' \
    build/wheels >"$work/log" 2>&1 || { tail -n 10 "$work/log" >&2; die "the source distribution cannot be made"; }
  tar -xzf "build/wheels/$(tail -n 1 "$work/log")" -C "$work/source" --strip-components=1
  source=$work/source
fi
settings=() variables=() platform=() libraries=() build="build-python"
if [[ -n $portable ]]; then
  scripts/portable_libraries.sh "$portable"
  settings=(-C "cmake.define.RIDGELINE_PORTABLE=$PWD/build/portable/$portable")
  platform=(--only-plat --plat "manylinux_2_28_$portable")
fi
if [[ $portable == aarch64 ]]; then
  # Each Debian release has one Python for Arm; from 3.12 on, later versions can run what was built for an earlier one.
  foreign=$(scripts/foreign_python.sh "$([[ $version == 3.11 ]] && echo 3.11 || echo 3.13)")
  build="build-python-aarch64"
  settings+=(-C "build-dir=$build" -C "cmake.toolchain-file=$PWD/scripts/aarch64.cmake"
    -C "cmake.define.RIDGELINE_FOREIGN_PYTHON=$foreign")
  variables=(_PYTHON_HOST_PLATFORM=linux-aarch64 "SETUPTOOLS_EXT_SUFFIX=.cpython-${version/./}-aarch64-linux-gnu.so")
fi
env "${variables[@]}" PATH="$PWD/$venv/bin:$PATH" "$venv/bin/pip" wheel --disable-pip-version-check --no-build-isolation \
  --no-deps -q "${settings[@]}" --wheel-dir "$work/raw" "$source" >"$work/log" 2>&1 ||
  { tail -n 30 "$work/log" >&2; die "the wheel does not build (whole log: $work/log)"; }
# Copies shared libraries of the system into the wheel, under unique names. A portable wheel has none: a library that
# not all systems of its platform have is refused.
# auditwheel allows only platforms of the machine that it runs on, so for a foreign wheel platform.machine is replaced.
audit() {
  PATH=$PWD/$venv/bin:$PATH "$venv/bin/python" -c '
import platform, sys
machine = sys.argv.pop(1)
platform.machine = lambda: machine
from auditwheel.main import main
sys.exit(main())' "${portable:-$(uname -m)}" "$@"
}
audit repair "${platform[@]}" --wheel-dir "$work/repaired" "$work"/raw/*.whl >"$work/log" 2>&1 ||
  { tail -n 10 "$work/log" >&2; die "auditwheel refuses the wheel"; }
if [[ -n $portable ]]; then
  extension=$(unzip -Z1 "$work"/repaired/*.whl 'ridgeline/_core*.so')
  libraries=(--linked "$build/package/$extension.libraries")
fi
"$venv/bin/python" scripts/wheel_licenses.py "${libraries[@]}" "$work"/repaired/*.whl ||
  die "the licences of the libraries cannot be added"
wheel=$(basename "$work"/repaired/*.whl)
mv "$work/repaired/$wheel" "build/wheels/$wheel"
size=$(stat -c %s "build/wheels/$wheel")
((size < 15000000)) || die "build/wheels/$wheel has $size bytes, it must stay below 15 MB"
say wheel "build/wheels/$wheel, $((size / 1000)) kB, $(duration $((SECONDS - begin)))"
