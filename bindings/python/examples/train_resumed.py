"""A training that may be killed at any moment: the same command goes on, and leaves the bytes of one that nobody
disturbed, with other ranks, too. Also those of examples/train_resumed.cpp, which says the same in C++.

    python train_resumed.py FOLDER [WORKERS [LOOP]]
    python -m ridgeline launch --ranks 2 -- train_resumed.py FOLDER
"""

import math
import sys

import numpy as np

import ridgeline as rl

folder = sys.argv[1]
workers, loop = (int(word) for word in (sys.argv[2:] + ["1", "10"][len(sys.argv) - 2:])[:2])


def points(count, begin):  # arms of a spiral, one per class
    radii = [begin + i / count for i in range(count)]
    angles = [4 * r + 2.0944 * (i % 3) for i, r in enumerate(radii)]
    return rl.data.InMemory({
        "point": np.array([[r * math.cos(a), r * math.sin(a)] for r, a in zip(radii, angles)], np.float32),
        "label": np.array([i % 3 for i in range(count)], np.int32)})


def arms(x):
    x = rl.nn.Dense(128, activation="relu", name="hidden")(x)
    return rl.nn.Dense(3, name="out")(rl.nn.Dropout(keep_prob=0.9, name="drop")(x))


model = rl.train.Model(arms, loss=rl.nn.SoftmaxCrossEntropy(), optimizer=rl.optim.Adam(lr=0.01), seed=7,
                       reproducibility="deterministic", batch_parts=4)  # 1, 2 or 4 ranks give the same bytes
train = model.part_of(points(384, 0).shuffle()).batch(32 // rl.train.ranks())
val = model.part_of(points(90, 0.005)).batch(8)
for _ in range(2):
    end = model.train(4, train, callbacks=[rl.train.Checkpoint(folder, steps=5, keep=3)], validation=val,
                      workers=workers, loop=loop)
top_1 = model.eval(val)["top_1"]
if rl.train.rank() == 0:
    print(f"step {end.step}: {top_1:g}, best {end.best_path}")
