#!/usr/bin/env bash
# Builds a shared library for C and installs it with its headers. Then compiles and runs the example against the
# installed files, once with pkg-config and a C compiler and once with CMake.
#
#   scripts/c_library.sh                     the data engine, into build/c-install/
#   scripts/c_library.sh PREFIX              into that folder
#   scripts/c_library.sh --infer [PREFIX]    inference, into build/c-infer-install/; its trial needs build/ridgeline
#   scripts/c_library.sh --infer --installed [PREFIX]   only the trial, of what is installed; 77 where nothing is
#   scripts/c_library.sh --infer --aarch64 [PREFIX]     inference for 64-bit Arm, into build-aarch64/c-infer-install/,
#                                            at most 4 MB; its trial runs under qemu (scripts/setup.sh --cross aarch64)
#
# Needs the compiler and Debian packages of scripts/setup.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

package=ridgeline_data option=RIDGELINE_C target=ridgeline_c component=c example=batches folder=build/c
if [[ ${1:-} == --infer ]]; then
  package=ridgeline_infer option=RIDGELINE_C_INFER target=ridgeline_c_infer component=c_infer example=classify
  folder=build/c-infer
  shift
fi
installed=0 options=() compiler=(cc) emulator=() find=()
if [[ ${1:-} == --installed ]]; then
  installed=1
  shift
elif [[ ${1:-} == --aarch64 ]]; then
  [[ $package == ridgeline_infer ]] || die "scripts/c_library.sh: --aarch64 is for --infer"
  shift
  folder=build-aarch64/c-infer
  options=(-DCMAKE_TOOLCHAIN_FILE="$PWD/scripts/aarch64.cmake" -DRIDGELINE_ONEDNN=OFF)
  sysroot=$(realpath -m .deps/aarch64/sysroot)
  [[ -d $sysroot ]] || die "no arm64 libraries in $sysroot: run scripts/setup.sh --cross aarch64"
  compiler=(aarch64-linux-gnu-gcc --sysroot="$sysroot" -Wl,-rpath-link,"$sysroot/usr/lib/aarch64-linux-gnu")
  emulator=(qemu-aarch64-static -L "$sysroot")
fi
prefix=$(realpath -m "${1:-$folder-install}")
begin=$SECONDS
work=$folder
((installed)) && work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
work=$(realpath "$work")
log=$work/log
if ((!installed)); then
  step cmake -S . -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release "${options[@]}" -D$option=ON -DRIDGELINE_TESTS=OFF \
    -DCMAKE_INSTALL_PREFIX="$prefix"
  step cmake --build "$work" --target $target
  step cmake --install "$work" --component $component --strip
fi
library=$(find "$prefix" -name "lib$package.so.*.*.*" 2>/dev/null | head -n 1 || true)
if [[ ! -f $library ]]; then
  ((!installed)) || { say c "no lib$package.so below $prefix: left out"; exit 77; }
  die "no lib$package.so below $prefix"
fi

bytes=$(stat -c %s "$library")
((${#emulator[@]} == 0 || bytes <= 4000000)) || die "$library has $bytes bytes, more than 4,000,000"

# It must export only what the header declares (and the linker's own symbols).
shown=$(nm -D --defined-only "$library" | awk '$2 ~ /[TDB]/ {print $3}' | grep -vxE '__bss_start|_edata|_end' | sort)
declared=$(sed -nE 's/^RIDGELINE_API .*\b(ridgeline_[a-z_]+)\(.*/\1/p' bindings/c/$package.h | sort -u)
[[ $shown == "$declared" ]] || { diff <(echo "$shown") <(echo "$declared") >&2 || true; die "symbols and header differ"; }

libraries=$(dirname "$library")
export PKG_CONFIG_PATH=$libraries/pkgconfig
if ((${#emulator[@]})); then
  emulator+=(-E "LD_LIBRARY_PATH=$libraries")
  find=("${options[0]}" -DCMAKE_FIND_ROOT_PATH="$prefix")
else
  export LD_LIBRARY_PATH=$libraries
fi
read -ra flags <<<"$(pkg-config --cflags --libs $package)"
step "${compiler[@]}" -std=c99 -pedantic-errors -Wall -Werror bindings/c/examples/$example.c -o "$work/by_pkg_config" "${flags[@]}"

mkdir -p "$work/user"
cat >"$work/user/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(user VERSION 1 LANGUAGES C)
find_package($package 0.2 REQUIRED)
add_executable(by_cmake $PWD/bindings/c/examples/$example.c)
target_link_libraries(by_cmake ridgeline::$target)
CMAKE
step cmake -S "$work/user" -B "$work/user/build" "${find[@]}" -DCMAKE_PREFIX_PATH="$prefix"
step cmake --build "$work/user/build"

if [[ $package == ridgeline_data ]]; then
  # A pipeline of three rows of numbers.
  printf 'image,label\n1.5,0\n2.5,1\n3.5,2\n' >"$work/rows.csv"
  cat >"$work/rows.json" <<JSON
{"schema":"data-graph","version":1,"seed":0,"outputs":["batch"],"nodes":[
 {"id":"csv","name":"csv","op":"csv","inputs":[],"hints":{},
  "args":{"file":"$work/rows.csv","columns":["image:f32","label:i32"]}},
 {"id":"batch","name":"batch","op":"batch","inputs":["csv"],"hints":{},"args":{"size":2}}]}
JSON
  arguments=("$work/rows.json")
  expected="^epoch 1 batch 1: mean 3.500000, labels 2$"
else
  # A model trained for one step, and an image; the program must print what `ridgeline predict` prints.
  [[ -x build/ridgeline ]] || die "no build/ridgeline, which makes the model for the trial"
  rm -rf "$work/trial" && mkdir "$work/trial"
  step build/ridgeline dataset make shapes --out="$work/trial/shapes" --train=64 --val=10
  step build/ridgeline train --data_dir="$work/trial/shapes" --model=resnet20 --mode=train --batch_size=32 \
    --max_train_steps=2 --log_dir="$work/trial/run"
  step build/ridgeline export --checkpoint_dir="$work/trial/run" --out="$work/trial/model.rdgm"
  picture=$(find "$work/trial/shapes/val" -name '*.jpg' | sort | head -n 1)
  step build/ridgeline predict --format=csv --top=1 "$work/trial/model.rdgm" "$picture"
  class=$(tail -n 1 "$log" | tr ',' '\n' | grep -xE '[a-z]+' | head -n 1)
  [[ -n $class ]] || die "ridgeline predict names no class: $(cat "$log")"
  arguments=("$work/trial/model.rdgm" "$picture")
  expected="^$picture	[0-9]*	$class	[01]\.[0-9]*$"
fi
for program in "$work/by_pkg_config" "$work/user/build/by_cmake"; do
  step "${emulator[@]}" "$program" "${arguments[@]}"
  grep -q "$expected" "$log" || die "$program printed something else: $(cat "$log")"
done
say c "$library, $((bytes / 1000)) kB, $(duration $((SECONDS - begin)))"
