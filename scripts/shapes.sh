#!/usr/bin/env bash
# Draws the shapes data set into build/shapes, unless it exists: 8,000 training and 1,000 validation JPEGs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

out=build/shapes
if [[ -e $out/complete ]]; then
  say data "all present ($out)"
  exit 0
fi
begin=$SECONDS
rm -rf "$out"  # remains of an interrupted run
build/ridgeline dataset make shapes --out "$out"
touch "$out/complete"
say data "8,000 + 1,000 JPEGs drawn in $(duration $((SECONDS - begin))) ($out)"
