#!/usr/bin/env bash
# Provides a Python for 64-bit Arm under qemu: scripts/foreign_python.sh VERSION prints its command. Unpacks Debian's
# packages into .deps/aarch64-pythonVERSION; nothing is installed. Needs scripts/setup.sh --cross aarch64.
#
# Programs may fork, but can start other Arm programs only if the system has binfmt_misc set up for them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

version=${1:-}
case $version in
  3.11) release=bookworm ;;
  3.13) release=trixie ;;
  *) die "scripts/foreign_python.sh: version '$version' (allowed: 3.11, 3.13, which Debian 12 and 13 have)" ;;
esac
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) ||
  die "no qemu-aarch64: run scripts/setup.sh --cross aarch64"
folder=.deps/aarch64-python$version
scripts/sysroot.sh --into $folder --release $release "python$version" libstdc++6 >&2
root=$PWD/$folder/sysroot
# The host's variables refer to the host's programs.
cat >$folder/python <<RUN
#!/bin/sh
exec "$qemu" -L "$root" -U LD_LIBRARY_PATH -E LC_ALL=C.UTF-8 "$root/usr/bin/python$version" "\$@"
RUN
chmod +x $folder/python
echo "$PWD/$folder/python"
