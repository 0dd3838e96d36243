#!/usr/bin/env bash
# Installs the libraries of a build into a folder, and builds and runs a project outside the source tree that finds them
# by find_package(ridgeline): the example that trains its own model.
#
#   scripts/install_test.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

build=${1:-build}
begin=$SECONDS
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
step() { "$@" >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "failed: $*"; }; }
step cmake --install "$build" --prefix "$work/prefix" --component cpp
mkdir "$work/project"
cp examples/train_own_model.cpp "$work/project/main.cpp"
cat >"$work/project/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(outside VERSION 1 LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(ridgeline 0.2 REQUIRED)
add_executable(outside main.cpp)
target_link_libraries(outside PRIVATE ridgeline::ridgeline)
CMAKE
step cmake -S "$work/project" -B "$work/project/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH="$work/prefix"
step cmake --build "$work/project/build"
(cd "$work" && step "$work/project/build/outside")
grep -q '^trained [0-9]* steps, saved runs/spirals/spirals-' "$log" || die "it printed something else: $(cat "$log")"
say install "a project outside of the tree builds, links and trains, $(duration $((SECONDS - begin)))"
