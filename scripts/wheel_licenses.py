"""Puts the licences of the libraries that a wheel holds into it.

    python scripts/wheel_licenses.py [--linked LIST] WHEEL        (scripts/wheel.sh calls it)

Which libraries auditwheel took, and of which packages they are, stands in the list of parts that it leaves in the wheel.
What is linked into the extension itself stands in LIST, a file's name a line (bindings/python/portable/link.py).
Licences are Debian's /usr/share/doc/PACKAGE/copyright. Headers and sources that are compiled into the extension are in no
such list: BUILT_IN. A licence that is not there is an error.
"""

import argparse
import base64
import hashlib
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

BUILT_IN = ["nlohmann-json3-dev"]
BUILT_IN_PYTHON = ["nanobind"]


def debian(package):
    return pathlib.Path("/usr/share/doc", package, "copyright").read_bytes()


def python(package):
    found = [file for file in importlib.metadata.files(package) if file.name.startswith("LICENSE")]
    if not found:
        sys.exit(f"{package} has no file of its licence")
    return pathlib.Path(found[0].locate()).read_bytes()


def packages_taken(wheel):
    """Those of the libraries that auditwheel took."""
    held = [name for name in wheel.namelist() if ".libs/lib" in name]
    parts = [name for name in wheel.namelist() if name.endswith(".cdx.json")]
    packages = {part["name"] for name in parts for part in json.loads(wheel.read(name))["components"]
                if part["purl"].startswith("pkg:deb/")}
    if len(packages) < len({name.split("/")[1].split("-")[0] for name in held}):
        sys.exit(f"of {len(held)} libraries auditwheel names the packages of {len(packages)}: {', '.join(sorted(packages))}")
    return packages


def packages_linked(linked):
    """Those of the files of the list. The packages of another architecture have the texts of this one's."""
    files = [re.sub(r"^.*/sysroot(/usr/lib/)[^/]*", r"\1x86_64-linux-gnu", line) for line in linked.read_text().split()]
    found = subprocess.run(["dpkg-query", "--search", *map(os.path.normpath, files)], check=True, capture_output=True, text=True)
    return {line.partition(":")[0] for line in found.stdout.splitlines()}


def licenses(packages):
    """{name: text} of these and of all that the extension is made of."""
    made = {package: debian(package) for package in sorted(packages) + BUILT_IN}
    return made | {package: python(package) for package in BUILT_IN_PYTHON}


def add(path, linked):
    with zipfile.ZipFile(path) as wheel:
        packages = packages_taken(wheel) | (packages_linked(linked) if linked else set())
        if not packages:
            sys.exit(f"{path} holds no library, and no list of those that are linked into it was given")
        record = next(name for name in wheel.namelist() if name.endswith(".dist-info/RECORD"))
        lines = wheel.read(record).decode().splitlines()
        made = {f"{record.rpartition('/')[0]}/licenses/{name}.txt": text for name, text in licenses(packages).items()}
        for name, text in made.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
            lines.insert(-1, f"{name},sha256={digest},{len(text)}")
        new = path.with_suffix(".new")
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as out:
            for entry in wheel.infolist():
                if entry.filename != record:
                    out.writestr(entry, wheel.read(entry), compresslevel=9)
            for name, text in made.items():
                out.writestr(name, text, compresslevel=9)
            out.writestr(record, "\n".join(lines) + "\n")
    shutil.move(new, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--linked", type=pathlib.Path)
    parser.add_argument("wheel", type=pathlib.Path)
    arguments = parser.parse_args()
    add(arguments.wheel, arguments.linked)
