"""Other people's trainers, from their own files, with their own loader and with this package's: losses and accuracies.

    python bench/peers/trainers.py DATA [--vision DIR] [--timm DIR] [--lightning DIR] [--transformers DIR]
                                   [--epochs N] [--side PIXELS] [--per-class N] [--only NAME ...] [--markdown]

DATA holds `train` and `val` (or `test`), each with class folders of photos, of which N a class are taken; a DIR is a
checkout of the project. The interpreter has PyTorch, torchvision, this package, and what the trainer needs.

A trainer runs from its file as that stands, and then with the lines of its entry in TRAINERS put in the place of theirs,
as the documentation says; a line that is not found ends the program. Only the loader differs: models (small, from the same
random weights), seeds, epochs and workers are the same. Samples are drawn by either loader's own random numbers, so losses
lie beside each other without being equal. images/s: training and evaluation photos of all epochs by the seconds of the
whole run, imports left out.

What is not there, a checkout or a package, is said and left out.
"""

import argparse
import csv
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import types

LOADER = "from ridgeline.data import DataLoader"


class Trainer:
    """A trainer's file, what it needs, how it is run on small pictures, and the lines that exchange its loader.

    variants: {name: {line or part of it, as their file has it: what stands in its place}}
    arguments: of (folder of the data, folder for what it writes, epochs, side of the pictures)
    figures: of (what it printed, folder with what it wrote): {"train loss" and so on: [a value an epoch]}
    """

    def __init__(self, checkout, file, needs, arguments, figures, variants):
        self.checkout, self.file, self.needs = checkout, file, needs
        self.arguments, self.figures, self.variants = arguments, figures, variants


# ---- torchvision's references/classification


def torchvision_figures(printed, out):
    loss = re.findall(r"Epoch: \[\d+\].* loss: \S+ \((\S+)\)", printed)
    epoch = re.findall(r"Epoch: \[(\d+)\].* loss: ", printed)
    last = dict(zip(epoch, loss))
    return {"train loss": list(map(float, last.values())),
            "accuracy": [float(x) for x in re.findall(r"Test: +Acc@1 (\S+)", printed)]}


def torchvision_arguments(data, out, epochs, side, *more):
    return ["--data-path", data, "--model", "resnet18", "--device", "cpu", "-b", "32", "--epochs", str(epochs), "-j", "2",
            "--lr", "0.02", "--train-crop-size", str(side), "--val-crop-size", str(side),
            "--val-resize-size", str(side * 8 // 7), "--print-freq", "1", *more]


IN_TORCHVISION = {
    "from torch.utils.data.dataloader import default_collate":
        f"from torch.utils.data.dataloader import default_collate; {LOADER}",
    "data_loader = torch.utils.data.DataLoader(": "data_loader = DataLoader(",
    "data_loader_test = torch.utils.data.DataLoader(": "data_loader_test = DataLoader(",
}

# ---- timm's train.py


def timm_figures(printed, out):
    (summary,) = pathlib.Path(out).glob("**/summary.csv")
    rows = list(csv.DictReader(summary.open()))
    return {"train loss": [float(row["train_loss"]) for row in rows], "accuracy": [float(row["eval_top1"]) for row in rows]}


def timm_arguments(data, out, epochs, side):
    return ["--data-dir", data, "--train-split", "train", "--val-split", "val", "--model", "resnet18",
            "--num-classes", str(len(os.listdir(f"{data}/train"))), "--img-size", str(side), "-b", "32",
            "--device", "cpu", "--epochs", str(epochs), "--warmup-epochs", "0", "--cooldown-epochs", "0", "--lr", "0.02",
            "-j", "2", "--output", out, "--seed", "3", "--log-interval", "10"]


# ---- Lightning's examples/pytorch/domain_templates/imagenet.py


def lightning_figures(printed, out):
    (metrics,) = pathlib.Path(out).glob("**/metrics.csv")
    rows = list(csv.DictReader(metrics.open()))
    of_epoch = {}
    for row in rows:
        if row.get("train_loss"):
            of_epoch.setdefault(row["epoch"], []).append(float(row["train_loss"]))
    return {"train loss": [sum(values) / len(values) for values in of_epoch.values()],
            "accuracy": [100 * float(row["val_acc1"]) for row in rows if row.get("val_acc1")]}


def lightning_arguments(data, out, epochs, side):
    # It crops to 224, so a small network is used.
    return ["fit", "--model.data_path", data, "--model.arch", "shufflenet_v2_x0_5", "--model.batch_size", "32",
            "--model.workers", "2", "--model.lr", "0.02", "--trainer.max_epochs", str(epochs),
            "--trainer.accelerator", "cpu", "--trainer.log_every_n_steps", "1",
            "--trainer.logger", "lightning.pytorch.loggers.CSVLogger", "--trainer.logger.save_dir", out,
            "--trainer.default_root_dir", out]


# ---- transformers' examples/pytorch/image-classification/run_image_classification.py


def transformers_figures(printed, out):
    history = json.loads(pathlib.Path(out, "trainer_state.json").read_text())["log_history"]
    return {"train loss": [row["loss"] for row in history if "loss" in row],
            "accuracy": [100 * row["eval_accuracy"] for row in history if "eval_accuracy" in row]}


def transformers_arguments(data, out, epochs, side):
    return ["--train_dir", f"{data}/train", "--validation_dir", f"{data}/val", "--model_name_or_path", small_model(data, out, side),
            "--output_dir", out, "--remove_unused_columns", "False", "--do_train", "--do_eval", "--use_cpu",
            "--num_train_epochs", str(epochs), "--per_device_train_batch_size", "32", "--per_device_eval_batch_size", "32",
            "--learning_rate", "2e-3", "--eval_strategy", "epoch", "--logging_strategy", "epoch", "--save_strategy", "no",
            "--dataloader_num_workers", "2", "--seed", "3", "--report_to", "none", "--disable_tqdm", "True",
            "--label_column_name", "label"]


def small_model(data, out, side):
    """A ResNet with random weights in a folder, and the accuracy that the script loads by name: nothing is downloaded."""
    import torch
    import transformers

    torch.manual_seed(3)
    config = transformers.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 1, 1],
                                       layer_type="basic", num_labels=len(os.listdir(f"{data}/train")))
    folder = f"{out}-model"
    transformers.ResNetForImageClassification(config).save_pretrained(folder)
    transformers.ViTImageProcessor(size={"height": side, "width": side}).save_pretrained(folder)
    metric = pathlib.Path("accuracy")  # where `evaluate` searches first
    metric.mkdir(exist_ok=True)
    (metric / "accuracy.py").write_text(ACCURACY)
    return folder


ACCURACY = """
import datasets
import evaluate


class Accuracy(evaluate.Metric):
    def _info(self):
        columns = {"predictions": datasets.Value("int32"), "references": datasets.Value("int32")}
        return evaluate.MetricInfo(description="", citation="", features=datasets.Features(columns))

    def _compute(self, predictions, references):
        return {"accuracy": sum(p == r for p, r in zip(predictions, references)) / len(references)}
"""

ADAPTED = {
    "from datasets import load_dataset": "from datasets import load_dataset; from ridgeline.data import adapters",
    "    trainer = Trainer(": "    trainer = adapters.hugging_face(Trainer)(",
}
IN_ENGINE = {  # gives the transforms to the engine instead of the data set
    **ADAPTED,
    "    trainer = Trainer(": "    trainer = adapters.hugging_face(Trainer, image=data_args.image_column_name, "
                              "transform=_train_transforms, evaluation={'transform': _val_transforms})(",
    'dataset["train"].set_transform(train_transforms)': "pass",
    'dataset["validation"].set_transform(val_transforms)': "pass",
    'torch.stack([example["pixel_values"] for': "torch.stack([example[data_args.image_column_name] for",
}

TRAINERS = {
    "torchvision": Trainer(
        "vision", "references/classification/train.py", ["torchvision"], torchvision_arguments, torchvision_figures,
        {"ours": IN_TORCHVISION}),
    "torchvision, v2, RandAugment, mixup, repeated": Trainer(
        "vision", "references/classification/train.py", ["torchvision"],
        lambda *given: torchvision_arguments(*given, "--use-v2", "--auto-augment", "ra", "--mixup-alpha", "0.2",
                                             "--cutmix-alpha", "1.0", "--random-erase", "0.1", "--ra-sampler",
                                             "--ra-reps", "2"),
        torchvision_figures, {"ours": IN_TORCHVISION}),
    "timm": Trainer(
        "timm", "train.py", ["torchvision", "yaml", "huggingface_hub", "safetensors"], timm_arguments, timm_figures,
        {"ours": {"from timm.data import create_dataset, create_loader, ":
                  "from ridgeline.data.timm import create_loader; from timm.data import create_dataset, "}}),
    "Lightning": Trainer(
        "lightning", "examples/pytorch/domain_templates/imagenet.py", ["lightning", "torchmetrics", "jsonargparse"],
        lightning_arguments, lightning_figures,
        {"ours": {"from torch.utils.data import Dataset": f"from torch.utils.data import Dataset; {LOADER}",
                  "return torch.utils.data.DataLoader(\n            dataset=":
                  "return DataLoader(\n            dataset=",
                  "return torch.utils.data.DataLoader(\n            self.eval": "return DataLoader(\n            self.eval"}}),
    "transformers": Trainer(
        "transformers", "examples/pytorch/image-classification/run_image_classification.py",
        ["transformers", "accelerate", "datasets", "evaluate", "sklearn"], transformers_arguments, transformers_figures,
        {"ours, one line": ADAPTED, "ours, transforms to the engine": IN_ENGINE}),
}


def changed(source, lines, path):
    """The text of a trainer with the lines of another loader; as many lines as before."""
    for theirs, ours in lines.items():
        found = source.count(theirs)
        if found != 1:
            sys.exit(f"{path}: the line {theirs!r} is there {found} times, it must be there once")
        source = source.replace(theirs, ours)
    return source


def child(given):
    """Runs a trainer in this process as its file would be run."""
    import torch

    trainer = TRAINERS[given.name]
    path = str(pathlib.Path(given.checkout, trainer.file).resolve())
    lines = trainer.variants.get(given.variant, {})
    source = changed(pathlib.Path(path).read_text(), lines, path)
    if lines:
        import ridgeline.data  # noqa: F401  imported here, so that the trainer's time does not include it
    torch.manual_seed(3)
    sys.argv = [path, *trainer.arguments(given.data, given.out, given.epochs, given.side)]
    sys.path[0] = str(pathlib.Path(path).parent)
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__file__ = path
    begin = time.perf_counter()
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except SystemExit as error:
        if error.code:
            raise
    print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)


def photos(data, part):
    return sum(1 for _ in pathlib.Path(data, part).glob("*/*"))


def linked(data, work, per_class):
    """A folder with `train` and `val` of so many photos a class."""
    for part, names in (("train", ["train"]), ("val", ["val", "test"])):
        found = [pathlib.Path(data, name) for name in names if pathlib.Path(data, name).is_dir()]
        if not found:
            sys.exit(f"{data} holds no folder {' or '.join(names)}")
        for folder in sorted(found[0].iterdir()):
            made = pathlib.Path(work, "data", part, folder.name)
            made.mkdir(parents=True)
            for file in sorted(folder.iterdir())[:per_class]:
                (made / file.name).symlink_to(file)
    return str(pathlib.Path(work, "data"))


def run(name, variant, checkout, data, given, work):
    """{"images/s", "train loss", "accuracy"} of one run, or the last lines of one that failed."""
    folder = pathlib.Path(work, re.sub(r"\W+", "-", f"{name} {variant}"))
    folder.mkdir()
    out = str(folder / "out")
    command = [sys.executable, str(pathlib.Path(__file__).resolve()), data, "--child", name, variant, checkout, out,
               "--epochs", str(given.epochs), "--side", str(given.side)]
    env = dict(os.environ, HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_HOME=str(folder / "home"),
               XDG_CACHE_HOME=str(folder / "cache"))
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    (folder / "printed").write_text(done.stdout + done.stderr)
    if done.returncode:
        raise RuntimeError("\n".join((done.stderr or done.stdout).strip().splitlines()[-12:]))
    figures = TRAINERS[name].figures(done.stdout, out)
    for what, values in figures.items():
        if len(values) < given.epochs:
            raise RuntimeError(f"{what} has {len(values)} values of {given.epochs} epochs:\n{done.stdout[-2000:]}")
    seconds = json.loads(done.stdout.strip().splitlines()[-1])["seconds"]
    said = [line for line in done.stderr.splitlines() if "in Python" in line]
    return {"images/s": given.epochs * (photos(data, "train") + photos(data, "val")) / seconds, "said": said, **figures}


def lacking(trainer, checkout):
    if checkout is None:
        return f"no checkout (--{trainer.checkout})"
    if not pathlib.Path(checkout, trainer.file).is_file():
        return f"no {trainer.file} in {checkout}"
    packages = [package for package in trainer.needs if importlib.util.find_spec(package) is None]
    return f"no {', '.join(packages)}" if packages else None


def shown(values, digits):
    return " ".join(f"{value:.{digits}f}" for value in values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    for checkout in dict.fromkeys(trainer.checkout for trainer in TRAINERS.values()):
        parser.add_argument(f"--{checkout}", metavar="DIR")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--per-class", type=int, default=1000)
    parser.add_argument("--only", nargs="*", choices=list(TRAINERS))
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.data = str(pathlib.Path(given.data).resolve())
    if given.child:
        given.name, given.variant, given.checkout, given.out = given.child
        return child(given)
    row = "| {} | {} | {} | {} | {} |" if given.markdown else "{:<46} {:<32} {:>9}   {:<24} {}"
    print(row.format("trainer", "loader", "images/s", "train loss, by epoch", "accuracy, %, by epoch"))
    if given.markdown:
        print("|---|---|---|---|---|")
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        data = linked(given.data, work, given.per_class)
        for name, trainer in TRAINERS.items():
            if given.only and name not in given.only:
                continue
            checkout = getattr(given, trainer.checkout)
            if why := lacking(trainer, checkout):
                print(f"{name}: left out, {why}")
                continue
            checkout = str(pathlib.Path(checkout).resolve())
            for variant in ("their own", *trainer.variants):
                try:
                    figures = run(name, variant, checkout, data, given, work)
                except RuntimeError as error:
                    failed += 1
                    print(f"{name}, {variant}: failed\n{error}", flush=True)
                    continue
                print(row.format(name, variant, f"{figures['images/s']:.0f}", shown(figures["train loss"], 3),
                                 shown(figures["accuracy"], 1)), flush=True)
                for line in figures["said"]:
                    print(f"    {line}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
