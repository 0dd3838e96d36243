#!/usr/bin/env bash
# Last step of `make train`: trains AlexNet on build/shapes and evaluates it. Further flags are passed to train.
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
