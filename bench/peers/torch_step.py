"""One training step in PyTorch on the CPU: the same work as `ridgeline bench step --model M` (torch_work.py).

    PYTHON bench/peers/torch_step.py [--model alexnet_torchvision] [--batch_size 128] [--precision f32|bf16]
        [--compiled] [--steps 7] [--threads N]

Prints one JSON object. Needs torch and torchvision; bench/peers/step.sh runs it, with malloc settings that keep freed
memory.
"""

import argparse
import json
import os
import statistics

import torch

from torch_work import MODELS, seconds_of, training_step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, default="alexnet_torchvision")
    parser.add_argument("--batch_size", type=int, default=128)
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    around = torch.compile if args.compiled else lambda model: model
    step = training_step(args.model, args.batch_size, 1, args.precision, around)
    times = [1e3 * seconds for seconds in seconds_of(step, args.steps)]
    ms = statistics.median(times)
    print(json.dumps({"system": f"torch {torch.__version__}", "ms_per_step": ms, "ms_fastest": min(times),
                      "ms_slowest": max(times), "images_per_second": 1e3 * args.batch_size / ms}))


main()
