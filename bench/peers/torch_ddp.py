"""Training steps in PyTorch over ranks of one core each: DistributedDataParallel over gloo; one rank runs without it.

    PYTHON bench/peers/torch_ddp.py [--ranks 2] [--model alexnet_torchvision] [--batch_size 32] [--steps 7]

The step of torch_work.py on each rank with a batch of that size; rank i runs on the i-th core of those that the process
may use. Prints one JSON object: images per second of all ranks together.
"""

import argparse
import json
import os
import socket
import statistics

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from torch_work import MODELS, seconds_of, training_step


def rank_main(rank, args, cores, port):
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    torch.set_num_threads(1)
    if args.ranks > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
        dist.init_process_group("gloo", rank=rank, world_size=args.ranks)

    def around(model):
        if args.ranks == 1:
            return model
        return torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)

    seconds = statistics.median(
        seconds_of(training_step(args.model, args.batch_size, 2 + rank, around=around), args.steps))
    if rank == 0:
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
