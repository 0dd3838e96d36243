#!/usr/bin/env bash
# What a program that only predicts weighs: the example of the C interface, stripped, with everything of ours inside.
#
#   scripts/infer_size.sh                 build/bindings/c/example_c_classify
#   scripts/infer_size.sh PROGRAM
#
# Fails beyond 5.5 MB, and where code of the data engine, of layers or of training came along.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

program=${1:-build/bindings/c/example_c_classify}
[[ -f $program ]] || die "no $program: build the target example_c_classify"
foreign=$(nm -C --defined-only "$program" | grep -cE 'ridgeline::(data|nn|optim|train)::' || true)
((foreign == 0)) || die "$program has $foreign names of data/, nn/, optim/ or train/"
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$program"
bytes=$(stat -c %s "$stripped")
((bytes <= 5500000)) || die "$program has $bytes bytes stripped, more than 5,500,000"
libraries=$(ldd "$program" | grep -oE 'lib(dnnl|jpeg|png16|webp|webpdemux|spdlog|fmt|hwy|z|gomp)\.so' | sort -u | tr '\n' ' ')
say infer "$program: $((bytes / 1000)) kB stripped, beside $libraries"
