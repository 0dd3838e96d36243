#!/usr/bin/env bash
# Runs commands on a clean machine: the minimal system of a release, made by debootstrap, with a fresh clone of this
# checkout's last commit and no other files of this machine.
#
#   scripts/clean_machine.sh bookworm 'make train'
#   scripts/clean_machine.sh noble 'make test'        Ubuntu 24.04
#   scripts/clean_machine.sh trixie --packages python3,python3-venv 'python3 -m venv v && v/bin/pip install *.whl' FILE.whl
#
# The commands run in the clone, with copies of the files that follow them. Installed are only `git`, `make` and the
# packages of --packages. Needs root and debootstrap. The minimal system is kept in .deps/clean/RELEASE.tar, so that the
# next run starts at once; the system in which the commands ran is removed by the next run, or by `rm -rf .deps/clean`.
# DEBIAN_MIRROR and UBUNTU_MIRROR replace debootstrap's servers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

(($# >= 2)) || die "scripts/clean_machine.sh RELEASE [--packages A,B] 'COMMANDS' [FILE...]"
release=$1
shift
packages=
if [[ $1 == --packages ]]; then
  (($# >= 3)) || die "scripts/clean_machine.sh: --packages A,B is followed by commands"
  packages=$2
  shift 2
fi
commands=$1
shift
((EUID == 0)) || die "scripts/clean_machine.sh makes a system of its own, which only root may"
for tool in debootstrap unshare; do
  command -v "$tool" >/dev/null || die "no $tool (Debian: apt-get install debootstrap util-linux)"
done
case $release in
  bullseye | bookworm | trixie) mirror=${DEBIAN_MIRROR:-} components=main script=sid ;;
  focal | jammy | noble) mirror=${UBUNTU_MIRROR:-} components=main,universe script=jammy ;;
  *) die "scripts/clean_machine.sh: release $release (allowed: bullseye, bookworm, trixie, focal, jammy, noble)" ;;
esac
for file in "$@"; do [[ -f $file ]] || die "scripts/clean_machine.sh: no file $file"; done

kept=$PWD/.deps/clean
root=$kept/$release
mkdir -p "$kept"
if [[ ! -f $root.tar ]]; then
  say system "fetching $release${mirror:+ from $mirror}"
  rm -rf "$root"
  keys=()
  # Debian does not have Ubuntu's keys, so signatures are not checked; the system is only for a test.
  if [[ $script == jammy && ! -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ]]; then keys=(--no-check-gpg); fi
  debootstrap "${keys[@]}" --variant=minbase --components="$components" --include=ca-certificates,git,make \
    "$release" "$root" "$mirror" "/usr/share/debootstrap/scripts/$script" >"$root.log" 2>&1 ||
    die "debootstrap could not make $release (whole log: $root.log)"
  # debootstrap has configured the package sources; Ubuntu's releases also have an updates archive.
  if [[ $script == jammy ]]; then
    for part in updates security; do
      sed -n "s/^\(deb [^ ]* $release\) /\1-$part /p" "$root/etc/apt/sources.list"
    done >"$root/etc/apt/sources.list.d/mends.list"
  fi
  tar -C "$root" --exclude './var/cache/apt/archives/*.deb' -cf "$root.tar.part" .
  mv "$root.tar.part" "$root.tar"
fi
rm -rf "$root"
mkdir "$root"
tar -C "$root" -xf "$root.tar"
# This machine's network configuration: name servers and trusted certificates.
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
git clone -q --no-hardlinks . "$root/home/ridgeline"
for file in "$@"; do cp "$file" "$root/home/ridgeline/"; done

say system "$(. "$root/etc/os-release" && echo "$PRETTY_NAME"), $(nproc) cores: $commands"
begin=$SECONDS
certificates=/etc/ssl/certs/ca-certificates.crt
install=
if [[ -n $packages ]]; then
  install="{ apt-get -q update && apt-get -q -y install --no-install-recommends ${packages//,/ }; } >/home/apt.log 2>&1 ||
    { tail -n 3 /home/apt.log >&2; exit 1; }"
fi
status=0
# Separate mount and process namespaces, so that mounts and processes end with the commands.
unshare --mount --pid --fork bash -c '
  mount -t proc proc "$1/proc" && mount -t sysfs sysfs "$1/sys" && mount --rbind /dev "$1/dev" &&
  exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home LANG=C.UTF-8 TERM=dumb \
    DEBIAN_FRONTEND=noninteractive PIP_CERT="$2" SSL_CERT_FILE="$2" \
    bash -c "cd /home/ridgeline && { $3
    $4
    }"' - "$root" "$certificates" "$install" "$commands" </dev/null || status=$?
say system "$release: exit code $status after $(duration $((SECONDS - begin)))"
exit "$status"
