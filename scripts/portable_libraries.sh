#!/usr/bin/env bash
# Makes the libraries of the portable wheel in build/portable/ARCHITECTURE: scripts/portable_libraries.sh x86_64|aarch64
# (called by scripts/wheel.sh --manylinux). Does nothing if all are there.
#
#   glibc/  stubs of glibc 2.28's libraries: its symbols with their versions and no code. A link against them asks for
#           nothing that a later glibc has. The list of symbols comes from zig, the compiler, which carries it for every
#           version (PyPI, pinned, checked by hash).
#   lib/    fmt, spdlog and Highway as archives, which Debian does not have: built from Debian's sources in the version of
#           the headers. Debian's archives of libjpeg and libpng, with another name for stderr, which code compiled for
#           programs copies and an extension cannot (bindings/python/portable/stand_ins.c). All other archives are
#           linked as Debian has them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

glibc=2.28
architecture=${1:-}
case $architecture in
  x86_64) toolchain='' system=/ prefix='' ;;
  aarch64) toolchain=$PWD/scripts/aarch64.cmake system=$PWD/.deps/aarch64/sysroot/ prefix=aarch64-linux-gnu- ;;
  *) die "scripts/portable_libraries.sh: architecture '$architecture' (allowed: x86_64, aarch64)" ;;
esac
[[ $(uname -m) == x86_64 ]] || die "the portable wheels are made on x86-64, this is $(uname -m)"
folder=$PWD/build/portable/$architecture
work=$folder.part

make_stubs() {
  local stamp
  stamp="glibc $glibc, $(cat scripts/requirements-zig.txt)"
  [[ $(cat "$folder/glibc/made-of" 2>/dev/null) == "$stamp" ]] && return 0
  say packages "fetching $(grep -oE '^[a-z]+==[0-9.]+' scripts/requirements-zig.txt) from PyPI for the symbols of glibc $glibc"
  rm -rf "$work"
  mkdir -p "$work/glibc" "$folder"
  python3 -m pip install --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -q \
    --target "$work/zig" -r scripts/requirements-zig.txt >"$work/log" 2>&1 ||
    { tail -n 3 "$work/log" >&2; die "pip could not fetch zig"; }
  # zig writes the stubs when it links any shared library.
  echo 'int nothing;' >"$work/nothing.c"
  ZIG_GLOBAL_CACHE_DIR=$work/cache ZIG_LOCAL_CACHE_DIR=$work/cache "$work/zig/ziglang/zig" cc \
    -target "$architecture-linux-gnu.$glibc" -shared -o "$work/nothing.so" "$work/nothing.c" >"$work/log" 2>&1 ||
    { tail -n 3 "$work/log" >&2; die "zig could not make the stubs of glibc $glibc"; }
  local library found
  for library in libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libld.so.2; do
    found=$(find "$work/cache" -name "$library" -print -quit)
    [[ -n $found ]] || die "zig made no $library"
    cp "$found" "$work/glibc/$library"
  done
  echo "$stamp" >"$work/glibc/made-of"
  rm -rf "$folder/glibc"
  mv "$work/glibc" "$folder/glibc"
  rm -rf "$work"
}

# Uses apt with a separate configuration, so that the system's package sources are unchanged.
fetch_sources() {  # fetch_sources FOLDER SOURCE=VERSION...
  local into=$1 keys=/usr/share/keyrings/debian-archive-keyring.gpg
  shift
  mkdir -p "$into"/apt/{lists,cache/archives/partial}
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' | sort -u |
    awk -v keys="$keys" '$3 == "main" { print "deb-src [signed-by=" keys "]", $1, $2, $3 }' >"$into/apt/sources.list"
  cat >"$into/apt/apt.conf" <<CONF
APT::Sandbox::User "";
Acquire::Languages "none";
Dir::Etc::sourcelist "$into/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$into/apt/lists";
Dir::Cache "$into/apt/cache";
CONF
  if ! (cd "$into" && export APT_CONFIG=$into/apt/apt.conf &&
        apt-get -q update && apt-get -q source "$@") >"$into/log" 2>&1 </dev/null; then
    tail -n 5 "$into/log" >&2
    die "apt-get could not fetch the sources of $* (network? whole log: $into/log)"
  fi
}

# shellcheck disable=SC2016  # the placeholders are dpkg's
sources_of() { dpkg-query -W -f='${source:Package}=${source:Version}\n' "$@"; }

make_libraries() {
  command -v dpkg-source >/dev/null || die "no dpkg-source (Debian: apt-get install dpkg-dev)"
  local sources stamp
  mapfile -t sources < <(sources_of libfmt-dev libspdlog-dev libhwy-dev)
  stamp="${sources[*]} $(sources_of libjpeg-dev libpng-dev | tr '\n' ' ')by $("${prefix}g++" -dumpfullversion)"
  [[ $(cat "$folder/lib/made-of" 2>/dev/null) == "$stamp" ]] && return 0
  say packages "building ${sources[*]} from Debian's sources for $architecture"
  rm -rf "$work"
  mkdir -p "$work/lib" "$folder"
  fetch_sources "$work/source" "${sources[@]}"
  local options=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON
    "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG -ffunction-sections -fdata-sections"
    ${toolchain:+"-DCMAKE_TOOLCHAIN_FILE=$toolchain"}
    -DFMT_TEST=OFF -DFMT_DOC=OFF -DSPDLOG_BUILD_EXAMPLE=OFF -DSPDLOG_FMT_EXTERNAL=ON
    -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_CONTRIB=OFF)
  local name
  for name in fmt spdlog hwy; do
    local source=$name
    case $name in fmt) source=fmtlib ;; hwy) source=highway ;; esac
    { cmake -S "$work"/source/$source-*/ -B "$work/$name" "${options[@]}" &&
      cmake --build "$work/$name" --target $name; } >"$work/log" 2>&1 ||
      { tail -n 10 "$work/log" >&2; die "$name does not build (whole log: $work/log)"; }
    cp "$work/$name/lib$name.a" "$work/lib/"
  done
  for name in jpeg png; do
    "${prefix}objcopy" --redefine-sym stderr=ridgeline_stderr \
      "${system}usr/lib/$architecture-linux-gnu/lib$name.a" "$work/lib/lib$name.a" || die "no lib$name.a of Debian's"
  done
  echo "$stamp" >"$work/lib/made-of"
  rm -rf "$folder/lib"
  mv "$work/lib" "$folder/lib"
  rm -rf "$work"
}

make_stubs
make_libraries
