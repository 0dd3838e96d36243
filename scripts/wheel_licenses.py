"""Puts the licences of the libraries that a wheel holds into it.

    python scripts/wheel_licenses.py WHEEL...        (scripts/wheel.sh calls it)

Which libraries auditwheel took, and of which packages they are, stands in the list of parts that it leaves in the wheel.
Their licences are Debian's /usr/share/doc/PACKAGE/copyright. Headers and sources that are compiled into the extension are
in no such list: BUILT_IN. A licence that is not there is an error.
"""

import base64
import hashlib
import importlib.metadata
import json
import pathlib
import shutil
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


def licenses(wheel):
    """{name: text} of all that the wheel holds."""
    parts = next(name for name in wheel.namelist() if name.endswith(".cdx.json"))
    packages = {part["name"] for part in json.loads(wheel.read(parts))["components"]
                if part["purl"].startswith("pkg:deb/")}
    held = [name for name in wheel.namelist() if ".libs/lib" in name]
    if len(packages) < len({name.split("/")[1].split("-")[0] for name in held}):
        sys.exit(f"of {len(held)} libraries auditwheel names the packages of {len(packages)}: {', '.join(sorted(packages))}")
    made = {package: debian(package) for package in sorted(packages) + BUILT_IN}
    return made | {package: python(package) for package in BUILT_IN_PYTHON}


def add(path):
    with zipfile.ZipFile(path) as wheel:
        record = next(name for name in wheel.namelist() if name.endswith(".dist-info/RECORD"))
        lines = wheel.read(record).decode().splitlines()
        made = {f"{record.rpartition('/')[0]}/licenses/{name}.txt": text for name, text in licenses(wheel).items()}
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
    for wheel in sys.argv[1:]:
        add(pathlib.Path(wheel))
