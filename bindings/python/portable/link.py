"""The last link of the portable extension: CMake runs it in the place of the linker's command (RIDGELINE_PORTABLE).

    python link.py FOLDER COMPILER ARGUMENT...

The objects stay as they are. FOLDER is what scripts/portable_libraries.sh has made: stubs of an old glibc, in the place
of this system's, and archives of libraries. Shared libraries among the arguments are replaced by their archives, and the
compiler's own C++ library is linked as an archive, too, so the extension asks for nothing but glibc, libgcc_s and Python.
What the old glibc lacks must stand in stand_ins.c: a name that nobody defines is an error here.

Beside the result lies RESULT.libraries: which libraries it holds, for their licences (scripts/wheel_licenses.py).
"""

import pathlib
import re
import subprocess
import sys

OF_GLIBC = {"-ldl", "-lm", "-lpthread", "-lrt", "-pthread"}


def archive_of(shared, folder):
    name = shared.name.partition(".so")[0] + ".a"
    for archive in (folder / "lib" / name, shared.parent / name):
        if archive.exists():
            return archive
    sys.exit(f"[portable] {shared}: no archive {name} in {folder}/lib or beside it")


def undefined(extension):
    """The names that the extension must find elsewhere, in no library that it was linked with."""
    table = subprocess.run(["readelf", "--wide", "--dyn-syms", extension], check=True, capture_output=True, text=True)
    rows = [line.split() for line in table.stdout.splitlines()]
    return [row[7] for row in rows if len(row) >= 8 and row[6] == "UND" and row[4] != "WEAK" and "@" not in row[7]]


def main(folder, *command):
    folder = pathlib.Path(folder)
    result = command[command.index("-o") + 1]
    shared = [argument for argument in command if re.search(r"^/.*\.so[.0-9]*$", argument) and argument != result]
    kept = [argument for argument in command if argument not in shared and argument not in OF_GLIBC]
    libraries = [pathlib.Path(argument) for argument in dict.fromkeys(shared)]
    archives = [archive_of(library, folder) for library in libraries]
    standard = subprocess.run([command[0], "-print-file-name=libstdc++.a"], check=True, capture_output=True, text=True).stdout
    standard = pathlib.Path(standard.strip())
    stubs = sorted((folder / "glibc").glob("*.so.*"))
    here = pathlib.Path(__file__).parent
    linked = subprocess.run([*kept, "-nodefaultlibs", f"-Wl,--version-script={here}/exported.txt",
                             "-Wl,--start-group", *archives, standard, "-Wl,--end-group",
                             "-Wl,--as-needed", *stubs, "-lgcc_s", "-lgcc"])
    if linked.returncode:
        return linked.returncode
    missing = [name for name in undefined(result) if not re.match("_?Py", name)]
    if missing:
        pathlib.Path(result).unlink()
        return f"[portable] neither the old glibc nor stand_ins.c defines {', '.join(sorted(missing))}"
    pathlib.Path(result + ".libraries").write_text("".join(f"{library}\n" for library in [*libraries, standard]))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
