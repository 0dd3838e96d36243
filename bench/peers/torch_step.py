"""One training step in PyTorch on the CPU: the same work as `ridgeline bench step --model M`.

    PYTHON bench/peers/torch_step.py [--model alexnet_torchvision] [--batch_size 128] [--precision f32|bf16]
        [--compiled] [--steps 7] [--threads N]

channels_last, which is PyTorch's fastest form on the processors that were tried; bf16 by autocast, with f32 parameters.
Prints one JSON object. Needs torch and torchvision; bench/peers/step.sh runs it, with malloc settings that keep freed
memory.
"""

import argparse
import json
import os
import statistics
import time

import torch
import torchvision

# Ours by name -> torchvision's.
MODELS = {"alexnet_torchvision": "alexnet", "vgg11": "vgg11", "resnet18": "resnet18", "resnet50": "resnet50"}


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
    torch.manual_seed(1)
    model = getattr(torchvision.models, MODELS[args.model])().to(memory_format=torch.channels_last).train()
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4, fused=True)
    images = torch.randn(args.batch_size, 3, 224, 224).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (args.batch_size,))
    forward = torch.compile(model) if args.compiled else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=args.precision == "bf16"):
            logits = forward(images)
        criterion(logits.float(), labels).backward()
        optimizer.step()

    for _ in range(2):
        step()
    times = []
    for _ in range(args.steps):
        begin = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - begin))
    ms = statistics.median(times)
    print(json.dumps({"system": f"torch {torch.__version__}", "ms_per_step": ms, "ms_fastest": min(times),
                      "ms_slowest": max(times), "images_per_second": 1e3 * args.batch_size / ms}))


main()
