"""What bench/scaling.sh measures, in the order of what it tells: the most threads first, then one, then those between."""

import dataclasses
import os

CASES = ("alexnet_torchvision:128:f32", "alexnet_torchvision:128:bf16", "resnet50:32:f32", "resnet50:32:bf16")

# Memory placements on machines with several NUMA nodes, as arguments of numactl.
SETTINGS = {
    "interleaved memory": {"numactl": "--interleave=all"},
    "one node": {"numactl": "--cpunodebind=0 --membind=0"},
}
SETTING_CASES = ("resnet50:32:bf16", "alexnet_torchvision:128:bf16")


@dataclasses.dataclass(frozen=True)
class Work:
    kind: str  # "step", "data" or "setting"
    system: str  # "ridgeline" or "torch"
    case: str
    threads: int
    setting: str = ""


def cores():
    """One processor of each core that this process may use, then their siblings."""
    first, others, seen = [], [], set()
    for cpu in sorted(os.sched_getaffinity(0)):
        try:
            siblings = open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read().strip()
        except OSError:
            siblings = str(cpu)
        (others if siblings in seen else first).append(cpu)
        seen.add(siblings)
    return first, others


def default_threads():
    most = len(cores()[0])
    counts = [1]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return counts + [most] if most > 1 else counts


def in_order(cases, threads, systems, photos, settings):
    most, least, between = max(threads), min(threads), sorted(set(threads) - {max(threads), min(threads)})
    both = [system for system in ("ridgeline", "torch") if system in systems]
    order = [Work("step", system, case, most) for case in cases for system in both]
    if photos:
        order += [Work("data", system, "crops", most) for system in both]
    if least != most:
        order += [Work("step", "ridgeline", case, least) for case in cases]
        if photos:
            order.append(Work("data", "ridgeline", "crops", least))
    order += [Work("setting", "ridgeline", case, most, setting)
              for setting in settings for case in SETTING_CASES if case in cases]
    for count in reversed(between):
        order += [Work("step", system, case, count) for case in cases for system in both]
        if photos:
            order.append(Work("data", "ridgeline", "crops", count))
    if least != most and "torch" in both:
        order += [Work("step", "torch", case, least) for case in reversed(cases)]
        if photos:
            order.append(Work("data", "torch", "crops", least))
    return order
