"""Training steps in PyTorch on a CUDA card, on random data that lie on the card: what `ridgeline bench step
--device=cuda` is compared with.

    PYTHON bench/peers/card_step.py [CASE ...] [--modes compiled captured eager] [--seconds 60] [--runs 12]
        [--warm] [--ridgeline PROGRAM]

CASE is MODEL:BATCH of torchvision, such as alexnet:128. channels_last, bf16 by autocast, f32 masters, SGD with momentum
in one fused kernel. Modes: eager; captured, the whole step as one graph; compiled, torch.compile inside of that. --warm
runs each compiled case once and times nothing: what torch.compile keeps (TORCHINDUCTOR_CACHE_DIR) then serves a later
run. With --ridgeline the same cases run in PROGRAM, before PyTorch takes the card's memory. A case that the seconds do
not allow is left out, and said so. One line a case and mode: milliseconds (median), images a second, memory that the
allocator reserved, seconds to the first step.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

CASES = ["alexnet:128", "alexnet:1024", "resnet50:256", "resnet18:256", "vgg11:128"]
OUR_NAMES = {"alexnet": "alexnet_torchvision"}
LEAST_SECONDS = {"compiled": 15, "captured": 6, "eager": 6}  # that a case takes


def step_of(torch, torchvision, name, batch, compiled):
    model = getattr(torchvision.models, name)(num_classes=1000).cuda().to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4, fused=True)
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    forward = torch.compile(model) if compiled else model
    images = torch.randn(batch, 3, 224, 224, device="cuda").contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch,), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = criterion(forward(images).float(), labels)
        loss.backward()
        optimizer.step()

    return step


def captured(torch, step):
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(4):
            step()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def milliseconds(torch, step, runs):
    step()
    torch.cuda.synchronize()
    times = []
    for _ in range(runs):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        step()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def ours(program, name, batch):
    command = [program, "bench", "step", f"--model={OUR_NAMES.get(name, name)}", f"--batch_size={batch}",
               "--precision=allow_mix_precision_bf16", "--device=cuda", "--steps=20", "--json"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        return run.stderr.strip().splitlines()[-1] if run.stderr.strip() else f"exit code {run.returncode}"
    result = json.loads(run.stdout)
    return f"{result['images_per_second']:.0f} images/s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=CASES)
    parser.add_argument("--modes", nargs="+", choices=list(LEAST_SECONDS), default=["compiled", "captured"])
    parser.add_argument("--warm", action="store_true", help="compile, and time nothing")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--ridgeline")
    arguments = parser.parse_args()
    cases = []
    for case in arguments.cases:
        name, _, batch = case.partition(":")
        if not batch.isdigit() or int(batch) < 1:
            parser.error(f"{case} is no case (MODEL:BATCH, such as alexnet:128)")
        cases.append((name, int(batch)))
    if arguments.ridgeline:
        for name, batch in cases:
            print(f"ridgeline {name} {batch} bf16: {ours(arguments.ridgeline, name, batch)}", flush=True)
    import torch
    import torchvision

    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no CUDA card")
    torch.backends.cudnn.benchmark = True
    begin = time.monotonic()
    for mode in ["compiled"] if arguments.warm else arguments.modes:
        for name, batch in cases:
            if time.monotonic() - begin > arguments.seconds - LEAST_SECONDS[mode]:
                print(f"torch {mode} {name} {batch}: left out, no time", flush=True)
                continue
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            start = time.monotonic()
            step = step_of(torch, torchvision, name, batch, mode == "compiled")
            step()
            torch.cuda.synchronize()
            first = time.monotonic() - start
            if arguments.warm:
                print(f"torch {mode} {name} {batch}: {first:.1f} s to the first step", flush=True)
                continue
            took = milliseconds(torch, step if mode == "eager" else captured(torch, step), arguments.runs)
            reserved = torch.cuda.max_memory_reserved() / 1e9
            rate = 1e3 * batch / took
            print(f"torch {mode} {name} {batch} bf16: {took:.3f} ms, {rate:.0f} images/s, {reserved:.2f} GB, "
                  f"first step after {first:.1f} s", flush=True)


if __name__ == "__main__":
    main()
