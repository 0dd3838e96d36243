"""Class folders of photos, each listed several times through links, so that an epoch is long.

    python3 bench/peers/linked_photos.py DIR COPIES INTO
"""

import pathlib
import sys


def linked(photos, copies, into):
    """Fills `into` with COPIES links to each file of photos/CLASS/*; the files are in the page cache then."""
    for file in sorted(photos.glob("*/*")):
        file.read_bytes()
        (into / file.parent.name).mkdir(parents=True, exist_ok=True)
        for copy in range(copies):
            (into / file.parent.name / f"{file.stem}_{copy}{file.suffix}").symlink_to(file.resolve())


if __name__ == "__main__":
    linked(pathlib.Path(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]))
