"""Lists the pictures of Oxford Flowers-102 as a manifest that the engine reads: FOLDER/flowers102.manifest.

    python3 scripts/flowers102.py FOLDER

FOLDER holds jpg/, setid.mat and imagelabels.mat, as published. Splits keep the order of setid.mat. Classes are named by
their numbers in imagelabels.mat, from 1. Needs SciPy, which reads MATLAB's files.
"""

import json
import pathlib
import sys

from scipy.io import loadmat

if len(sys.argv) != 2:
    sys.exit(__doc__)
folder = pathlib.Path(sys.argv[1])
labels = loadmat(folder / "imagelabels.mat")["labels"].ravel()
splits = loadmat(folder / "setid.mat")
lines = [{"source": f"jpg/image_{image:05}.jpg", "usage": usage, "annotation": [{"name": str(labels[image - 1])}]}
         for usage, variable in (("train", "trnid"), ("val", "valid"), ("test", "tstid"))
         for image in splits[variable].ravel()]
(folder / "flowers102.manifest").write_text("".join(json.dumps(line) + "\n" for line in lines))
