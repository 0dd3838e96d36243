#!/usr/bin/env bash
# `make train`, last step: AlexNet on build/shapes, then its validation. Further flags are passed through.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

flags=(
  --preset=shapes
  --data_dir=build/shapes
  --log_dir=runs/shapes
)
say train "build/ridgeline train ${flags[*]} $*"
exec build/ridgeline train "${flags[@]}" "$@"
