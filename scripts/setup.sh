#!/usr/bin/env bash
# Installs what is missing and prints what it does; does nothing if all is present.
#
#   scripts/setup.sh              what the build needs: Debian packages, oneDNN in .deps/
#   scripts/setup.sh --no-onednn  the same without oneDNN: for builds with our kernels alone (RIDGELINE_ONEDNN=OFF)
#   scripts/setup.sh --tests      and OpenMPI, and numpy, Pillow and SciPy in .venv/, which some tests use as oracles
#   scripts/setup.sh --cuda       and NVIDIA's compiler in .deps/cuda, where CUDA_HOME and /usr/local/cuda have none
#   scripts/setup.sh --check      and clang-format and clang-tidy in .venv/
#   scripts/setup.sh --java       and a JDK, where no javac is
#   scripts/setup.sh --cross aarch64   what a build for 64-bit Arm needs: Debian's cross compiler, qemu, and the arm64
#                                 libraries in .deps/aarch64/sysroot (docs/arm.md); no oneDNN
#
# Debian packages are those of the release. Packages from PyPI are pinned and checked by hash.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

tests=0 check=0 cuda=0 java=0 with_onednn=1 cross=
[[ $(uname -m) == x86_64 ]] || with_onednn=0  # oneDNN's wheels are for x86-64
while (($#)); do
  case $1 in
    --tests) tests=1 ;;
    --check) check=1 ;;
    --cuda) cuda=1 ;;
    --java) java=1 ;;
    --no-onednn) with_onednn=0 ;;
    --cross)
      cross=${2:-}
      [[ $cross == aarch64 ]] || die "scripts/setup.sh: --cross '$cross' (allowed: aarch64)"
      with_onednn=0
      shift
      ;;
    *) die "scripts/setup.sh: unknown flag $1 (allowed: --tests, --check, --cuda, --java, --no-onednn, --cross aarch64)" ;;
  esac
  shift
done

tools=(g++ cmake ninja-build pkg-config git make python3 python3-venv python3-pip unzip)
libraries=(libjpeg-dev libpng-dev libwebp-dev zlib1g-dev libdeflate-dev libcurl4-openssl-dev libfmt-dev libspdlog-dev
  nlohmann-json3-dev libpugixml-dev libcli11-dev libyaml-cpp-dev libhwy-dev libgtest-dev libgmock-dev libssl-dev
  libbenchmark-dev)
packages=("${tools[@]}" "${libraries[@]}")
onednn_version=2023.2.0
onednn=.deps/onednn
did=()  # installed by this run

install_packages() {
  command -v dpkg-query >/dev/null || die "this set-up knows Debian only; elsewhere install: ${packages[*]}"
  local missing=() package sudo=()
  for package in "${packages[@]}"; do
    [[ $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) == *" installed" ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "missing packages, and neither root nor sudo: ${missing[*]}"
    sudo=(sudo)
  fi
  say packages "installing ${missing[*]}"
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y)
  local log
  log=$(mktemp)
  if ! "${apt[@]}" update >"$log" 2>&1 ||
     ! "${apt[@]}" install --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null; then
    tail -n 5 "$log" >&2
    die "apt-get could not install ${missing[*]} (network? whole log: $log)"
  fi
  rm -f "$log"
  did+=("${#missing[@]} Debian packages")
}

# python [VERSION]: prints a Python with pip, of that version if given; the first one in PATH may have no pip.
python() {
  local candidate
  for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c "import sys; sys.exit('${1:-}' not in ('', '%d.%d' % sys.version_info[:2]))" 2>/dev/null &&
       "$candidate" -m pip --version >/dev/null 2>&1; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# The two wheels are plain archives of a C++ library and its headers. The wheel holds three copies of the
# library under three names: one is kept.
install_onednn() {
  [[ $(cat $onednn/version 2>/dev/null) == "$onednn_version" && -s $onednn/lib/libdnnl.so.3 ]] && return 0
  say packages "fetching oneDNN $onednn_version from PyPI"
  local python work log
  python=$(python) || die "no python3 with pip (Debian: apt-get install python3 python3-pip)"
  mkdir -p .deps
  work=$(mktemp -d .deps/unpack.XXXXXX)
  log=$work/log
  if ! "$python" -m pip download --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
       -d "$work/wheels" -r scripts/requirements-onednn.txt >"$log" 2>&1; then
    tail -n 3 "$log" >&2
    rm -rf "$work"
    die "pip could not fetch oneDNN $onednn_version (network? or a hash that does not match)"
  fi
  local wheel
  for wheel in "$work"/wheels/*.whl; do unzip -q -o "$wheel" -d "$work/files"; done
  mkdir -p "$work/onednn/lib"
  mv "$work"/files/onednn_devel_cpu_gomp-*.data/data/include "$work/onednn/include"
  mv "$work"/files/onednn_cpu_gomp-*.data/data/lib/libdnnl.so.3 "$work/onednn/lib/libdnnl.so.3"
  mv "$work"/files/onednn_cpu_gomp-*.data/data/share/doc/onednn/LICENSE "$work/onednn/LICENSE"
  ln -s libdnnl.so.3 "$work/onednn/lib/libdnnl.so"
  echo "$onednn_version" >"$work/onednn/version"
  rm -rf $onednn
  mv "$work/onednn" $onednn
  rm -rf "$work"
  did+=("oneDNN $onednn_version")
}

# The wheels contain one folder, nvidia/cu13, with the layout of a toolkit.
install_cuda() {
  local home
  for home in "${CUDA_HOME:-}" /usr/local/cuda; do [[ -n $home && -x $home/bin/nvcc ]] && return 0; done
  local requirements=scripts/requirements-cuda.txt stamp=.deps/cuda/requirements.txt
  cmp -s $requirements $stamp && return 0
  say packages "fetching $(grep -oE '^[a-z-]+==[0-9.]+' $requirements | tr '\n' ' ')from PyPI"
  local python work
  python=$(python) || die "no python3 with pip (Debian: apt-get install python3 python3-pip)"
  mkdir -p .deps
  work=$(mktemp -d .deps/unpack.XXXXXX)
  if ! "$python" -m pip download --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
       -d "$work/wheels" -r $requirements >"$work/log" 2>&1; then
    tail -n 3 "$work/log" >&2
    rm -rf "$work"
    die "pip could not fetch NVIDIA's compiler (network? or a hash that does not match)"
  fi
  local wheel
  for wheel in "$work"/wheels/*.whl; do unzip -q -o "$wheel" 'nvidia/cu13/*' -d "$work/files"; done
  chmod +x "$work"/files/nvidia/cu13/bin/* "$work"/files/nvidia/cu13/nvvm/bin/* 2>/dev/null || true
  cp $requirements "$work/files/nvidia/cu13/requirements.txt"
  rm -rf .deps/cuda
  mv "$work/files/nvidia/cu13" .deps/cuda
  rm -rf "$work"
  did+=("NVIDIA's compiler")
}

# install_into_venv NAME: scripts/requirements-NAME.txt, once for each version of that file.
install_into_venv() {
  local requirements=scripts/requirements-$1.txt stamp=.venv/$1.txt log
  cmp -s "$requirements" "$stamp" && return 0
  local python
  if ! python=$(python 3.11); then  # the wheels are pinned for Debian 12's
    say packages "no Python 3.11 with pip: $requirements left out, what needs it skips"
    return 0
  fi
  say packages "installing $(grep -oE '^[A-Za-z-]+==[0-9.]+' "$requirements" | tr '\n' ' ')into .venv"
  [[ -x .venv/bin/pip ]] || "$python" -m venv .venv || die "cannot make .venv (Debian: apt-get install python3-venv)"
  log=.venv/$1.log
  if ! .venv/bin/pip install --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
       -r "$requirements" >"$log" 2>&1; then
    tail -n 3 "$log" >&2
    die "pip could not install $requirements (network? or a hash that does not match)"
  fi
  cp "$requirements" "$stamp"
  did+=("$1 tools in .venv")
}

if ((tests)); then packages+=(openmpi-bin); fi  # mpirun and the library; nothing is compiled against it
if ((java)) && ! command -v javac >/dev/null; then packages+=(default-jdk-headless); fi
if [[ -n $cross ]]; then packages=("${tools[@]}" g++-aarch64-linux-gnu qemu-user-static); fi
install_packages
if [[ -n $cross ]]; then
  before=$(cat .deps/aarch64/packages 2>/dev/null || true)
  scripts/sysroot.sh libc6-dev libstdc++6 libgomp1 "${libraries[@]}"
  [[ $(cat .deps/aarch64/packages) == "$before" ]] || did+=("the arm64 libraries")
fi
if ((with_onednn)); then install_onednn; fi
if ((cuda)); then install_cuda; fi
if ((tests)); then install_into_venv tests; fi
if ((check)); then install_into_venv check; fi
if ((${#did[@]})); then
  text=$(printf ', %s' "${did[@]}")
  say packages "installed ${text:2}"
else
  say packages "all present"
fi
