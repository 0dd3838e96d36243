"""The rows of step.sh or busy.sh as a Markdown table: images per second of each system (medians of its rounds), ours
over the best peer's, with the least and the greatest ratio of the rounds, and the largest memory of each in MB.

    python3 bench/peers/step_table.py ROWS

A row is CASE, SYSTEM and the JSON object that the system printed, between tabs.
"""

import collections
import json
import statistics
import sys

OURS = "ridgeline"


def read(path):
    """{case: {system: [images per second, a round each]}}, the same of the largest memory where a row tells it, and all
    systems in the order of their first row."""
    cases, systems = collections.defaultdict(lambda: collections.defaultdict(list)), []
    memory = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in open(path):
        case, system, text = line.rstrip("\n").split("\t")
        row = json.loads(text)
        cases[case][system].append(row["images_per_second"])
        if "peak_mb" in row:
            memory[case][system].append(row["peak_mb"])
        if system not in systems:
            systems.append(system)
    return cases, memory, systems


def ratio(rates):
    """Ours over the best peer's: of the medians, and the least and greatest of the rounds that both have."""
    peers = {system: r for system, r in rates.items() if system != OURS}
    if OURS not in rates or not peers:
        return ""
    best = max(peers, key=lambda system: statistics.median(peers[system]))
    rounds = [a / b for a, b in zip(rates[OURS], peers[best])]
    of_medians = statistics.median(rates[OURS]) / statistics.median(peers[best])
    return f"{of_medians:.2f} ({min(rounds):.2f} to {max(rounds):.2f}, {best})"


def main():
    cases, memory, systems = read(sys.argv[1])
    print("| model, batch, precision | " + " | ".join(systems) + " | ratio to the best | MB: " + ", ".join(systems) + " |")
    print("|---" * (len(systems) + 3) + "|")
    for case, rates in cases.items():
        cells = [f"{statistics.median(rates[s]):.1f}" if s in rates else "" for s in systems]
        peaks = ", ".join(f"{max(memory[case][s])}" if memory[case][s] else "-" for s in systems)
        print(f"| {case.replace(':', ', ')} | " + " | ".join(cells) + f" | {ratio(rates)} | {peaks} |")


main()
