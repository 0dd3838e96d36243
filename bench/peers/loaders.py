"""One loader on one workload, tensors in hand: a line of JSON on standard output.

    python bench/peers/loaders.py LOADER WORKLOAD DIR [--workers N] [--images N] [--processes]

LOADER: ridgeline (this package's DataLoader), engine (the same graph in build/ridgeline dataset bench, without Python),
torch (torchvision on PIL images), torch-tensors (torchvision v2 on tensors), dali (CPU, antialias; workload plain only).
WORKLOAD: plain, jitter, randaug, trivial, blur, eval, cifar (DIR holds small images), or png and webp (plain; DIR
holds such files). DIR holds class folders, of JPEGs for the others. Batches of 128, f32; all pixels but DALI's are
torchvision's. With samples of other schemas, for ridgeline and torch: floats (plain, float targets), dicts (plain, a
dict of the picture, boxes, a text and numbers), detection (pictures with eight boxes: RandomIoUCrop, flip, 320x320;
lists, batches of 32), segmentation (pictures with a mask, a PNG: a random resized crop to 224 and flip of both;
batches of 32), computed (Python computes a signal of 64 KiB, 1 ms of work, in as many processes on both sides) and
tables (rows that cost almost nothing: what the way from process to process costs). The masks of segmentation lie in a
folder `masks` beside DIR, named as the photos. Joint data sets open their files anew for each sample, so the engine
may ask them from several threads (thread_safe). With --processes, `ridgeline` lets as many processes as there are
workers make the samples of dicts, detection and segmentation.

`first`: images a second in the first epoch, from its third batch on. `later`: in later ones, median of three times
`images`. For loaders that keep nothing from epoch to epoch, and for the engine, the two are one number. Start-up is in
neither. Indices of JPEGs that earlier runs left in the user's cache folder make a first epoch a later one: XDG_CACHE_HOME
names an empty one.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "build" / "ridgeline"
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
BATCH = 128
LOADERS = ("ridgeline", "engine", "torch", "torch-tensors", "dali")
COMPUTED = ("computed", "tables")  # computed by Python only
JOINT = ("detection", "segmentation")  # images with boxes or masks
OTHERS = ("floats", "dicts", *JOINT, *COMPUTED)  # samples other than image and class
WORKLOADS = ("plain", "jitter", "randaug", "trivial", "blur", "eval", "cifar", "png", "webp", *OTHERS)
BATCHES = {"detection": 32, "segmentation": 32}  # the other workloads use BATCH


def steps(workload, t, tensors):
    crop = [t.RandomResizedCrop(224, antialias=True), t.RandomHorizontalFlip()]
    return {
        "plain": crop,
        "png": crop,
        "webp": crop,
        "floats": crop,
        "dicts": crop,
        "jitter": crop + [t.ColorJitter(0.4, 0.4, 0.4, 0.1)],
        "randaug": crop + [t.RandAugment()],
        "trivial": crop + [t.TrivialAugmentWide()],
        "blur": crop + [t.GaussianBlur(23, (0.1, 2.0))],
        "eval": [t.Resize(256, antialias=True), t.CenterCrop(224)],
        "cifar": [t.RandomCrop(32, padding=4), t.RandomHorizontalFlip()],
    }[workload]


def torchvision_data(directory, workload, tensors):
    import torch
    from torchvision import datasets, io
    from torchvision.transforms import v2

    end = [v2.ToDtype(torch.float32, scale=True)] if tensors else [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    load = {"loader": lambda path: io.decode_image(path, io.ImageReadMode.RGB)} if tensors else {}
    return datasets.ImageFolder(directory, v2.Compose(steps(workload, v2, tensors) + end + [v2.Normalize(MEAN, STD)]),
                                **load)


class Dicts:
    """Samples as detection has them. Encoded, the picture is left to the loader."""

    def __init__(self, folder, transform, encoded):
        self.folder, self.transform, self.encoded = folder, transform, encoded

    def __len__(self):
        return len(self.folder.samples)

    def __getitem__(self, i):
        import numpy as np

        path, label = self.folder.samples[i]
        if self.encoded:
            with open(path, "rb") as file:
                image = file.read()
        else:
            image = self.transform(self.folder.loader(path))
        return {"image": image, "boxes": np.full((8, 4), i, np.float32), "caption": f"photo {i}", "label": label,
                "weight": i / 7}


class Joint:
    """A photo, and boxes (detection) or a mask (segmentation) as tv_tensors. Encoded, the picture is left to the loader,
    and read_mask reads the mask."""

    def __init__(self, directory, kind, transform, encoded):
        from PIL import Image

        self.files = sorted(map(str, pathlib.Path(directory).glob("*/*")))
        self.kind, self.transform, self.encoded = kind, transform, encoded
        sizes = {}  # sizes of the linked photos
        for file in map(os.path.realpath, self.files):
            if file not in sizes:
                with Image.open(file) as image:
                    sizes[file] = image.size
        self.sizes = [sizes[os.path.realpath(file)] for file in self.files]
        masks = pathlib.Path(directory).parent / "masks"
        self.masks = [str(masks / pathlib.Path(os.path.realpath(file)).with_suffix(".png").name) for file in self.files]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        import torch
        from PIL import Image
        from torchvision import tv_tensors

        width, height = self.sizes[i]
        if self.kind == "detection":
            corners = torch.rand(8, 2, 2).sort(1).values * torch.tensor([width, height])
            target = {"boxes": tv_tensors.BoundingBoxes(corners.reshape(8, 4), format="XYXY", canvas_size=(height, width)),
                      "labels": torch.arange(8)}
        else:
            mask = mask_by_engine(self.masks[i]) if self.encoded else Image.open(self.masks[i])
            target = tv_tensors.Mask(mask)
        if self.encoded:
            return self.files[i], target
        with Image.open(self.files[i]) as image:
            sample = image.convert("RGB"), target
        return self.transform(*sample)


def mask_by_engine(file):
    import torch
    from ridgeline.data import read_mask

    return torch.from_numpy(read_mask(file))[None]


def joint_transform(kind):
    import torch
    from torchvision.transforms import v2

    end = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    if kind == "detection":
        return v2.Compose([v2.RandomIoUCrop(), v2.RandomHorizontalFlip(), v2.Resize((320, 320)), *end,
                           v2.SanitizeBoundingBoxes()])
    return v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), *end, v2.Normalize(MEAN, STD)])


def lists(samples):
    return tuple(zip(*samples))


class Computed:
    """Signals that NumPy computes in about a millisecond; or, without work, rows of a table."""

    def __init__(self, work):
        self.work = work

    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        import numpy as np

        if not self.work:
            return {"row": np.full(16, i, np.float32), "label": i % 10}
        signal = np.linspace(0, i % 97, 8192)
        begin = time.perf_counter()
        while time.perf_counter() - begin < 0.001:
            signal = np.sin(signal)
        return {"signal": signal, "target": i / 7, "id": i}


def other_data(directory, workload, encoded):
    """The data set of a workload whose samples are no pairs of picture and class, and its transform."""
    if workload in COMPUTED:
        return Computed(workload == "computed"), None
    if workload in JOINT:
        transform = joint_transform(workload)
        return Joint(directory, workload, transform, encoded), transform
    folder = torchvision_data(directory, workload, False)
    if workload == "floats":
        folder.target_transform = lambda label: label / 7
        return folder, None
    transform, folder.transform = folder.transform, None
    return Dicts(folder, transform, encoded), transform


def loader_of(directory, workload, workers, processes=False):
    from ridgeline.data import DataLoader

    if workload in OTHERS:
        dataset, transform = other_data(directory, workload, True)
        given = {} if workload in COMPUTED else {"drop_last": True}
        return DataLoader(dataset, BATCHES.get(workload, BATCH), shuffle=True, num_workers=workers, persistent_workers=True,
                          transform=transform, collate_fn=lists if workload == "detection" else None,
                          thread_safe=workload in JOINT, multiprocessing_context="fork" if processes else None, **given)
    return DataLoader(torchvision_data(directory, workload, False), BATCH, shuffle=True, drop_last=True,
                      num_workers=workers)


def engine(directory, workload, workers, images):
    """Images a second behind the first epoch."""
    loader = loader_of(directory, workload, workers)
    epochs = 1 + math.ceil(3 * images / (len(loader) * BATCH))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as graph:
        graph.write(loader.graph.to_json())
        graph.flush()
        command = [PROGRAM, "dataset", "bench", "--json", "--graph", graph.name, "--workers", str(workers)]
        command += ["--epochs", str(epochs), "--warmup", str(len(loader))]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)["images_per_second"]


def ridgeline(directory, workload, workers, processes):
    loader = loader_of(directory, workload, workers, processes)
    while True:
        yield from map(rows_of, loader)
        yield 0  # an epoch ends


def rows_of(batch):
    return len(batch["label"] if "label" in batch else batch["id"]) if isinstance(batch, dict) else len(batch[0])


def torch(directory, workload, workers, tensors):
    import torch

    torch.set_num_threads(1)
    if workload in OTHERS:
        data, _ = other_data(directory, workload, False)
    else:
        data = torchvision_data(directory, workload, tensors)
    # One long epoch, so that workers are started only once.
    endless = torch.utils.data.RandomSampler(data, replacement=True, num_samples=10**7)
    loader = torch.utils.data.DataLoader(data, BATCHES.get(workload, BATCH), sampler=endless, num_workers=workers,
                                         drop_last=True, collate_fn=lists if workload == "detection" else None,
                                         worker_init_fn=lambda _: torch.set_num_threads(1))
    yield from map(rows_of, loader)


def dali(directory, workload, workers):
    from pipelines import dali as batches

    if workload != "plain":
        raise SystemExit("dali: workload plain only")
    return batches(directory, workers, True)


def rate(batches, images):
    begin, count = time.perf_counter(), 0
    while count < images:
        count += next(batches)
    return count / (time.perf_counter() - begin)


def show(given, first, later):
    print(json.dumps({"loader": given.loader, "workload": given.workload, "workers": given.workers,
                      "first": round(first or later, 1), "later": round(later, 1)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loader", choices=LOADERS)
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("directory")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--images", type=int, default=1536)
    parser.add_argument("--processes", action="store_true")
    given = parser.parse_args()
    if given.loader == "engine":
        return show(given, None, engine(given.directory, given.workload, given.workers, given.images))
    batches = {
        "ridgeline": lambda *a: ridgeline(*a, given.processes), "dali": dali, "torch": lambda *a: torch(*a, False),
        "torch-tensors": lambda *a: torch(*a, True),
    }[given.loader](given.directory, given.workload, given.workers)
    next(batches), next(batches)
    first = None
    if given.loader == "ridgeline" and given.workload not in COMPUTED:
        begin, count = time.perf_counter(), 0
        while size := next(batches):
            count += size
        first = count / (time.perf_counter() - begin)
    later = statistics.median(rate(batches, given.images) for _ in range(3))
    show(given, first, later)
    os._exit(0)  # ends loaders whose workers never end


if __name__ == "__main__":
    main()
