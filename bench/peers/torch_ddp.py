"""Training steps in PyTorch over ranks of one core each: DistributedDataParallel over gloo; one rank runs without it.

    PYTHON bench/peers/torch_ddp.py [--ranks 2] [--model alexnet_torchvision] [--batch_size 32] [--steps 7]

The step of bench/peers/torch_step.py, on each rank with a batch of that size; rank i runs on the i-th core of those that
the process may use. Prints one JSON object: images per second of all ranks together.
"""

import argparse
import json
import os
import socket
import statistics
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torchvision

MODELS = {"alexnet_torchvision": "alexnet", "vgg11": "vgg11", "resnet18": "resnet18", "resnet50": "resnet50"}


def rank_main(rank, args, cores, port):
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = getattr(torchvision.models, MODELS[args.model])().to(memory_format=torch.channels_last).train()
    if args.ranks > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
        dist.init_process_group("gloo", rank=rank, world_size=args.ranks)
        model = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4, fused=True)
    torch.manual_seed(2 + rank)
    images = torch.randn(args.batch_size, 3, 224, 224).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (args.batch_size,))

    def step():
        optimizer.zero_grad(set_to_none=True)
        criterion(model(images), labels).backward()
        optimizer.step()

    for _ in range(2):
        step()
    times = []
    for _ in range(args.steps):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    if rank == 0:
        seconds = statistics.median(times)
        print(json.dumps({"system": f"torch {torch.__version__}", "ranks": args.ranks,
                          "images_per_second": args.ranks * args.batch_size / seconds}), flush=True)
    if args.ranks > 1:
        dist.barrier()
        dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--model", choices=MODELS, default="alexnet_torchvision")
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=7)
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    if args.ranks == 1:
        rank_main(0, args, cores, port)
    else:
        mp.spawn(rank_main, (args, cores, port), nprocs=args.ranks)


if __name__ == "__main__":
    main()
