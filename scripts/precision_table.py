#!/usr/bin/env python3
"""The precision modes side by side on real images: one training run a mode and seed, then a table in Markdown.

    scripts/precision_table.py --data_dir=DIR [--model=resnet20] [--epochs=10] [--seeds=1,2,3] [--out=runs/precision]
                               [--modes=...] [further flags of `ridgeline train`]

DIR holds train/<class>/* and val/<class>/* or test/<class>/*. For CIFAR-10 with resnet20, as a first experiment:

    scripts/precision_table.py --data_dir=cifar10 --epochs=20 --lr=0.1 --batch_size=128 --flip=True --min_area=0.6 \
        --label_smoothing=0

A run that is there already is not done again. Relations are to the first mode, seed by seed: "=" where the mean
difference of the accuracies is within 0.5 points and two standard errors, else "<" or ">".
"""
import json
import math
import pathlib
import statistics
import subprocess
import sys

MODES = ["must_keep_origin_dtype", "allow_mix_precision_bf16", "allow_mix_precision_fp16", "allow_fp32_to_fp16",
         "force_fp16"]
BINARY = pathlib.Path(__file__).resolve().parent.parent / "build" / "ridgeline"


def options(arguments):
    own = {"model": "resnet20", "epochs": "10", "seeds": "1,2,3", "out": "runs/precision", "modes": ",".join(MODES)}
    rest = []
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name[2:] in own:
            own[name[2:]] = value
        else:
            rest.append(argument)
    if not any(a.startswith("--data_dir=") for a in rest):
        sys.exit(__doc__)
    return own, rest


def run(own, rest, mode, seed):
    """The last evaluation, the last loss and the batch times of one run; None where it did not come to its end."""
    log_dir = pathlib.Path(own["out"]) / own["model"] / f"{mode}-{seed}"
    done = log_dir / "done"
    if not done.exists():
        log_dir.mkdir(parents=True, exist_ok=True)
        command = [str(BINARY), "train", f"--model={own['model']}", f"--max_epochs={own['epochs']}",
                   f"--epochs_between_evals={own['epochs']}", "--mode=train_and_evaluate", f"--seed={seed}",
                   f"--precision_mode={mode}", f"--log_dir={log_dir}", "--log=memory", *rest]
        print(" ".join(command), file=sys.stderr)
        with open(log_dir / "output.txt", "w") as output:
            code = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode
        if code != 0:
            print(f"{mode} seed {seed} ended with {code}: {log_dir}/output.txt", file=sys.stderr)
            return None
        done.touch()
    lines = [json.loads(line) for line in open(log_dir / "metrics.jsonl")]
    steps = [l for l in lines if l["kind"] == "train"]
    evaluations = [l for l in lines if l["kind"] == "evaluation"]
    memory = [l for l in open(log_dir / "output.txt") if "intermediate values" in l]
    return {"top_1": 100 * evaluations[-1]["val-top1acc"], "loss": steps[-1]["loss"],
            "speed": statistics.median(l["images_per_second"] for l in steps[1:] or steps),
            "memory": memory[0].split("intermediate values ")[1].split(" (")[0] if memory else "?"}


def relation(base, other):
    differences = [b - a for a, b in zip(base, other)]
    mean = statistics.mean(differences)
    error = statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else 0.0
    sign = "=" if abs(mean) <= 0.5 + 2 * error else "<" if mean < 0 else ">"
    return f"{sign} ({mean:+.2f} ± {error:.2f})"


def main():
    own, rest = options(sys.argv[1:])
    seeds = own["seeds"].split(",")
    runs = {mode: [run(own, rest, mode, seed) for seed in seeds] for mode in own["modes"].split(",")}
    base = next(iter(runs.values()))
    print("| precision_mode | top-1 % by seed | mean | against the first | last loss | images/s | intermediate values |")
    print("|---|---|---|---|---|---|---|")
    for mode, results in runs.items():
        if any(r is None for r in results + base):
            print(f"| {mode} | a run failed | | | | | |")
            continue
        top = [r["top_1"] for r in results]
        print(f"| {mode} | {', '.join(f'{t:.2f}' for t in top)} | {statistics.mean(top):.2f} | "
              f"{relation([r['top_1'] for r in base], top)} | {statistics.mean(r['loss'] for r in results):.3f} | "
              f"{statistics.median(r['speed'] for r in results):.0f} | {results[0]['memory']} |")


main()
