#!/usr/bin/env bash
# Builds the data engine as a shared library for C and installs it with its header; then compiles and runs the example
# against what was installed, once through pkg-config and a C compiler and once through CMake.
#
#   scripts/c_library.sh             into build/c-install/
#   scripts/c_library.sh PREFIX      into that folder
#
# Needs the compiler and Debian packages of scripts/setup.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

prefix=$(realpath -m "${1:-build/c-install}")
begin=$SECONDS
work=build/c
mkdir -p "$work"
log=$work/log
step() { "$@" >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "failed: $* (whole log: $log)"; }; }
step cmake -S . -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release -DRIDGELINE_C=ON -DCMAKE_INSTALL_PREFIX="$prefix"
step cmake --build "$work" --target ridgeline_c
step cmake --install "$work" --component c --strip
library=$(find "$prefix" -name 'libridgeline_data.so.*.*.*' | head -n 1)
[[ -f $library ]] || die "no libridgeline_data.so below $prefix"

# What it shows is what the header declares, nothing else.
shown=$(nm -D --defined-only "$library" | awk '$2 ~ /[TDB]/ {print $3}' | sort)
declared=$(grep -oE '\bridgeline_[a-z_]+\(' bindings/c/ridgeline_data.h | tr -d '(' | sort -u)
[[ $shown == "$declared" ]] || { diff <(echo "$shown") <(echo "$declared") >&2 || true; die "symbols and header differ"; }

libraries=$(dirname "$library")
export PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries
read -ra flags <<<"$(pkg-config --cflags --libs ridgeline_data)"
step cc -std=c99 -pedantic-errors -Wall -Werror bindings/c/examples/batches.c -o "$work/by_pkg_config" "${flags[@]}"

mkdir -p "$work/user"
cat >"$work/user/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(user VERSION 1 LANGUAGES C)
find_package(ridgeline_data 0.1 REQUIRED)
add_executable(by_cmake $PWD/bindings/c/examples/batches.c)
target_link_libraries(by_cmake ridgeline::ridgeline_c)
CMAKE
step cmake -S "$work/user" -B "$work/user/build" -DCMAKE_PREFIX_PATH="$prefix"
step cmake --build "$work/user/build"

# Three rows of numbers, as a pipeline.
printf 'image,label\n1.5,0\n2.5,1\n3.5,2\n' >"$work/rows.csv"
cat >"$work/rows.json" <<JSON
{"schema":"data-graph","version":1,"seed":0,"outputs":["batch"],"nodes":[
 {"id":"csv","name":"csv","op":"csv","inputs":[],"hints":{},
  "args":{"file":"$PWD/$work/rows.csv","columns":["image:f32","label:i32"]}},
 {"id":"batch","name":"batch","op":"batch","inputs":["csv"],"hints":{},"args":{"size":2}}]}
JSON
for program in "$work/by_pkg_config" "$work/user/build/by_cmake"; do
  step "$program" "$work/rows.json"
  grep -q "^epoch 1 batch 1: mean 3.500000, labels 2$" "$log" || die "$program printed something else: $(cat "$log")"
done
say c "$library, $(($(stat -c %s "$library") / 1000)) kB, $(duration $((SECONDS - begin)))"
