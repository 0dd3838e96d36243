#!/usr/bin/env bash
# Checks formatting and lint with pinned tools: scripts/check.sh [--all | --fix]
#   without a flag   formatting of every source; clang-tidy on the .cpp files that differ from the last commit,
#                    and on ridgeline/core
#   --all            clang-tidy on every .cpp file (long)
#   --fix            rewrite the formatting, no lint
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

mode=${1:-}
[[ $mode == "" || $mode == --all || $mode == --fix ]] || die "scripts/check.sh: unknown flag $mode (allowed: --all, --fix)"
scripts/setup.sh --check
mapfile -t sources < <(git ls-files -co --exclude-standard -- 'ridgeline/*.h' 'ridgeline/*.cpp' 'tests/*.h' \
  'tests/*.cpp' 'bench/*.h' 'bench/*.cpp' 'examples/*.cpp' 'bindings/*.h' 'bindings/*.cpp')
if [[ $mode == --fix ]]; then
  .venv/bin/clang-format -i "${sources[@]}"
  say format "${#sources[@]} files rewritten where needed"
  exit 0
fi

failed=0
if .venv/bin/clang-format --dry-run -Werror "${sources[@]}"; then
  say format "${#sources[@]} files in form"
else
  say format "some files are not in form: make format"
  failed=1
fi

if [[ $mode == --all ]]; then
  mapfile -t linted < <(printf '%s\n' "${sources[@]}" | grep '^ridgeline/.*\.cpp$')
else
  mapfile -t linted < <({ git diff --name-only --diff-filter=AM HEAD; git ls-files -o --exclude-standard;
                          git ls-files 'ridgeline/core/*.cpp'; } | grep '^ridgeline/.*\.cpp$' | sort -u)
fi
# Writes the compile commands without precompiled headers, so that each file is checked by itself.
cmake --preset release -B build/lint -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DRIDGELINE_UNITY=OFF >/dev/null
# clang cannot parse gcc's omp.h, so the std::thread variant of the compute team is checked.
tidy=(.venv/bin/clang-tidy -p build/lint --quiet --extra-arg=-DRIDGELINE_STD_THREADS --extra-arg=-Wno-unknown-warning-option)
if printf '%s\0' "${linted[@]:?no file to lint}" | xargs -0 -r -n 1 -P "$(nproc)" "${tidy[@]}" \
     2> >(grep -vE '^[0-9]+ warnings? (and [0-9]+ errors? )?generated|^Suppressed|^Use -' >&2); then
  say lint "${#linted[@]} files clean"
else
  say lint "clang-tidy found something (above)"
  failed=1
fi
exit $failed
