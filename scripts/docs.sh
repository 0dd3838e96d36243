#!/usr/bin/env bash
# `make docs`: builds the site of docs/ in build/site, with MkDocs in its own environment; a broken link is an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

requirements=scripts/requirements-docs.txt environment=build/docs-venv
if ! cmp -s $requirements $environment/requirements.txt; then
  say docs "installing MkDocs and its theme into $environment"
  python3 -m venv --clear $environment || die "cannot make $environment (Debian: apt-get install python3-venv)"
  # The hashes are of the wheels for Debian 12's Python; other versions install the same releases without hashes.
  options=(--require-hashes -r $requirements)
  if ! $environment/bin/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then
    sed 's/ --hash=.*//' $requirements >$environment/releases.txt
    options=(-r $environment/releases.txt)
  fi
  $environment/bin/pip install --disable-pip-version-check -q --no-deps --only-binary :all: "${options[@]}" \
    >$environment/log 2>&1 || { tail -n 3 $environment/log >&2; die "pip could not install $requirements (network?)"; }
  cp $requirements $environment/requirements.txt
fi
$environment/bin/mkdocs --quiet build --strict
say docs "build/site/index.html"
