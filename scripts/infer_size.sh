#!/usr/bin/env bash
# Measures the size of a program that only predicts: the stripped example of the C interface, which links our libraries
# statically.
#
#   scripts/infer_size.sh                 build/bindings/c/example_c_classify
#   scripts/infer_size.sh PROGRAM         another build's; it may be one for 64-bit Arm
#
# Fails if it exceeds 4.6 MB (5.6 where a newer Highway than Debian 12's makes kernels for SSE2, too; on Arm, which has
# fewer kernels, 4 MB), or contains code of the data engine, of layers or of training.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

program=${1:-build/bindings/c/example_c_classify}
[[ -f $program ]] || die "no $program: build the target example_c_classify"
strip=strip most=4600000
if readelf -h "$program" | grep -q AArch64; then
  most=4000000
  [[ $(uname -m) == aarch64 ]] || strip=aarch64-linux-gnu-strip
fi
sse2=$(nm -C --defined-only "$program" | grep -c 'N_SSE2' || true)
((sse2 == 0)) || most=5600000
foreign=$(nm -C --defined-only "$program" | grep -cE 'ridgeline::(data|nn|optim|train)::' || true)
((foreign == 0)) || die "$program has $foreign names of data/, nn/, optim/ or train/"
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
$strip -o "$stripped" "$program"
bytes=$(stat -c %s "$stripped")
((bytes <= most)) || die "$program has $bytes bytes stripped, more than $most"
libraries=$(readelf -d "$program" | grep -oE 'lib(dnnl|jpeg|png16|webp|webpdemux|spdlog|fmt|hwy|z|deflate|gomp)\.so' | sort -u | tr '\n' ' ')
say infer "$program: $((bytes / 1000)) kB stripped, beside $libraries"
