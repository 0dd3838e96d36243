"""PyTorch's all-reduce over gloo between processes of this machine: the same work as `bench_collectives`.

    PYTHON bench/peers/gloo_all_reduce.py [RANKS] [MILLIONS_OF_FLOATS] [ROUNDS]     # default: 2, 61.1, 7

The maximum of random values, in place, one compute thread a rank; a round begins and ends with a barrier; the median.
"""

import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def rank_main(rank, ranks, count, rounds, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    torch.manual_seed(rank)
    values, other = torch.rand(count), torch.empty(count)

    def median_ms(body):
        times = []
        for _ in range(rounds + 1):
            dist.barrier()
            begin = time.perf_counter()
            body()
            dist.barrier()
            times.append(1e3 * (time.perf_counter() - begin))
        return statistics.median(times[1:])  # the first round touches the pages

    copy = median_ms(lambda: other.copy_(values))
    ms = median_ms(lambda: dist.all_reduce(values, dist.ReduceOp.MAX))
    small = torch.ones(1)
    calls = 200
    one = median_ms(lambda: [dist.all_reduce(small, dist.ReduceOp.MAX) for _ in range(calls)])
    if rank == 0:
        print(f"torch {torch.__version__} gloo: all_reduce {ms:.1f} ms, {count * 4 / ms / 1e6:.1f} GB/s of each rank's "
              f"values, {copy / ms:.2f} of the copy ({copy:.1f} ms); of one float {1e3 * one / calls:.1f} us")
    dist.destroy_process_group()


if __name__ == "__main__":
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    count = int(1e6 * float(sys.argv[2] if len(sys.argv) > 2 else 61.1))
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    port = 20000 + os.getpid() % 20000
    mp.spawn(rank_main, (ranks, count, rounds, port), nprocs=ranks)
