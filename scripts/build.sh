#!/usr/bin/env bash
# Configures and builds a preset: scripts/build.sh release|debug|asan|tsan [target].
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

preset=${1:-release}
target=${2:-all}
begin=$SECONDS
# The configuration prints nothing unless it fails; the compiler's output shows the progress of a first build.
if ! output=$(cmake --preset "$preset" 2>&1); then
  printf '%s\n' "$output" >&2
  die "cmake --preset $preset failed"
fi
NINJA_STATUS='      %f of %t: ' cmake --build --preset "$preset" --target "$target" -j "$(nproc)"
say build "$(duration $((SECONDS - begin)))"
