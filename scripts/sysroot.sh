#!/usr/bin/env bash
# Unpacks the arm64 Debian packages against which Ridgeline is compiled into .deps/aarch64/sysroot: scripts/sysroot.sh
# PACKAGE... (called by scripts/setup.sh --cross aarch64 with its list).
#
#   scripts/sysroot.sh --into FOLDER --release RELEASE PACKAGE...     into FOLDER/sysroot, of another release of Debian's
#
# The system is not changed: apt runs with separate sources, state and cache, so that no foreign architecture is added
# and nothing is installed. Dependencies of the packages are unpacked, too, for programs that run under qemu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

folder=$PWD/.deps/aarch64
of_release=
while (($#)); do
  case $1 in
    --into) folder=$PWD/${2:?} ;;
    --release) of_release=${2:?} ;;
    *) break ;;
  esac
  shift 2
done
release=$(. /etc/os-release && echo "$ID-${VERSION_CODENAME:-unknown}")
[[ $release == debian-* ]] || die "the sysroot is made of Debian's packages; this machine runs $release"
release=${release#debian-}
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[[ -s $keys ]] || die "no $keys (Debian: apt-get install debian-archive-keyring)"
# The same servers as the system's.
sources=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' | sort -u |
  awk -v keys="$keys" -v release="$release" \
    '$3 == "main" && ($2 == release || $2 ~ "^" release "-(updates|security)$") { print "deb [signed-by=" keys "]", $1, $2, $3 }')
[[ -n $sources ]] || die "apt knows no source of Debian's $release: run apt-get update"
if [[ -n $of_release ]]; then
  sources=${sources// $release/ $of_release}
  release=$of_release
fi

wanted="$release $*"
if [[ $(cat "$folder/packages" 2>/dev/null) == "$wanted" ]]; then exit 0; fi
say packages "fetching Debian's arm64 packages of $release into ${folder#"$PWD"/}"
rm -rf "$folder"
mkdir -p "$folder"/apt/{lists,cache/archives/partial} "$folder/sysroot"
: >"$folder/apt/status"
echo "$sources" >"$folder/apt/sources.list"
cat >"$folder/apt/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "";
APT::Install-Recommends "false";
Acquire::Languages "none";
Dir::Etc::sourcelist "$folder/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "$folder/apt";
Dir::State::lists "$folder/apt/lists";
Dir::State::status "$folder/apt/status";
Dir::Cache "$folder/apt/cache";
CONF
export APT_CONFIG=$folder/apt/apt.conf
log=$folder/log
if ! apt-get -q update >"$log" 2>&1 || ! apt-get -q -y install --download-only "$@" >>"$log" 2>&1 </dev/null; then
  tail -n 5 "$log" >&2
  die "apt-get could not fetch the arm64 packages (network? whole log: $log)"
fi
# Debian's packages have programs and libraries below /usr; these links are for paths in /lib.
mkdir -p "$folder"/sysroot/usr/{bin,sbin,lib}
for name in bin sbin lib; do ln -s "usr/$name" "$folder/sysroot/$name"; done
for package in "$folder"/apt/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink --no-same-owner -C "$folder/sysroot"
done
# Absolute links would point outside the folder.
find "$folder/sysroot" -type l -lname '/*' | while read -r link; do
  ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$folder/sysroot$(readlink "$link")")" "$link"
done
rm -rf "$folder/sysroot"/usr/share/{doc,man,locale,info} "$folder/apt"
echo "$wanted" >"$folder/packages"
