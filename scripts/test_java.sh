#!/usr/bin/env bash
# Builds the Java package (docs/java.md) into build-java/java and tests it on the JVM of this machine.
#
#   scripts/test_java.sh              needs scripts/setup.sh --java, and build/ridgeline, which makes the test's files
#   scripts/test_java.sh --if-built   for ctest: builds nothing, leaves with 77 (skipped) where there is no JDK or no
#                                     package of these sources
# RIDGELINE_BINARY names another program than build/ridgeline.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

if_built=0
case ${1:-} in
  "") ;;
  --if-built) if_built=1 ;;
  *) die "scripts/test_java.sh: unknown flag $1 (allowed: --if-built)" ;;
esac
missing() {
  if ((if_built)); then echo "skipped: $*"; exit 77; fi
  die "$*"
}

command -v javac >/dev/null || missing "no JDK: scripts/setup.sh --java installs one"
package=build-java/java
# The time at which the last complete build began: a build only updates files whose sources have changed.
stamp=build-java/sources
begin=$SECONDS
if ((if_built)); then
  [[ -f $stamp ]] || missing "no package in $package: scripts/test_java.sh builds it"
  newer=$(find ridgeline bindings/shared bindings/c bindings/java CMakeLists.txt -newer "$stamp" \
    -type f ! -path 'ridgeline/cli/*' ! -path '*/tests/*' ! -path '*/examples/*' -print -quit)
  [[ -z $newer ]] || missing "$package is older than $newer: scripts/test_java.sh makes another"
else
  mkdir -p build-java
  rm -f "$stamp"
  touch "$stamp.begun"
  scripts/build.sh java ridgeline_java
  mv "$stamp.begun" "$stamp"
fi
program=${RIDGELINE_BINARY:-build/ridgeline}
[[ -x $program ]] || missing "no $program, which makes the test's files: scripts/build.sh release ridgeline"

# Images, a pipeline that reads them, a model trained for two steps, and the command line's predictions with it.
work=$PWD/build-java/test
rm -rf "$work"
mkdir -p "$work"
log=$work/log
step "$program" dataset make shapes --out="$work/shapes" --train=64 --val=10
step "$program" dataset export-json --data_dir="$work/shapes" --image_size=32 --batch_size=4 --out="$work/shapes.json"
step "$program" train --data_dir="$work/shapes" --model=resnet20 --mode=train --batch_size=32 --max_train_steps=2 \
  --log_dir="$work/run"
step "$program" export --checkpoint_dir="$work/run" --out="$work/model.rdgm"
find "$work/shapes/val" -name '*.jpg' | sort | head -n 6 >"$work/pictures.txt"
mapfile -t pictures <"$work/pictures.txt"
step "$program" predict --format=csv --top=1 "$work/model.rdgm" "${pictures[@]}"
cp "$log" "$work/predictions.csv"

step javac --release 11 -Xlint:all -Werror -cp $package/ridgeline.jar -d "$work/classes" bindings/java/tests/*.java
java=(java -Xcheck:jni "-Djava.library.path=$PWD/$package")
"${java[@]}" -cp "$package/ridgeline.jar:$work/classes" Main "$work" >"$log" 2>&1 || { cat "$log" >&2; die "failed (log: $log)"; }
if grep -E '^(WARNING|FATAL)' "$log" >&2; then die "the JVM has complaints about native code (log: $log)"; fi
cat "$log"

# Runs the examples as their comments say.
step "${java[@]}" -cp $package/ridgeline.jar bindings/java/examples/Batches.java "$work/shapes.json"
[[ $(grep -cE '^epoch [01] batch [0-9]+: labels \[[0-9, ]+\]$' "$log") == 32 ]] || die "Batches printed: $(cat "$log")"
step "${java[@]}" -cp $package/ridgeline.jar bindings/java/examples/Classify.java "$work/model.rdgm" "${pictures[@]}"
for i in "${!pictures[@]}"; do
  class=$(sed -n "$((i + 2))p" "$work/predictions.csv" | tr ',' '\n' | grep -xE '[a-z]+' | head -n 1)
  grep -qP "^\Q${pictures[i]}\E\t[0-9]+\t$class\t[01]\.[0-9]+$" "$log" || die "Classify printed: $(cat "$log")"
done
for library in "$package"/*.so; do
  say java "$library, $(($(stat -c %s "$library") / 1000)) kB"
done
say java "$(java -version 2>&1 | head -n 1), $(duration $((SECONDS - begin)))"
