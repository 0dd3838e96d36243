"""The rows of step.sh or busy.sh as a Markdown table: images per second of each system (medians of its rounds), ours
over the best peer's, with the least and the greatest ratio of the rounds, the largest memory of each in MB, and its
processor seconds (medians) with their share of cores x wall time: who waits in a loop needs more of them for the same
steps.

    python3 bench/peers/step_table.py ROWS

A row is CASE, SYSTEM and the JSON object that the system printed, between tabs.
"""

import collections
import json
import statistics
import sys

OURS = "ridgeline"


def read(path):
    """{case: {system: [row, a round each]}}, and all systems in the order of their first row."""
    cases, systems = collections.defaultdict(lambda: collections.defaultdict(list)), []
    for line in open(path):
        case, system, text = line.rstrip("\n").split("\t")
        cases[case][system].append(json.loads(text))
        if system not in systems:
            systems.append(system)
    return cases, systems


def ratio(rates):
    """Ours over the best peer's: of the medians, and the least and greatest of the rounds that both have."""
    peers = {system: r for system, r in rates.items() if system != OURS}
    if OURS not in rates or not peers:
        return ""
    best = max(peers, key=lambda system: statistics.median(peers[system]))
    rounds = [a / b for a, b in zip(rates[OURS], peers[best])]
    of_medians = statistics.median(rates[OURS]) / statistics.median(peers[best])
    return f"{of_medians:.2f} ({min(rounds):.2f} to {max(rounds):.2f}, {best})"


def median(rows, key):
    return statistics.median(row[key] for row in rows)


def main():
    cases, systems = read(sys.argv[1])
    names = ", ".join(systems)
    print(f"| model, batch, precision | {' | '.join(systems)} | ratio to the best | MB: {names} | CPU s: {names} |")
    print("|---" * (len(systems) + 4) + "|")
    for case, rows in cases.items():
        rates = {s: [row["images_per_second"] for row in rows[s]] for s in systems if s in rows}
        cells = [f"{statistics.median(rates[s]):.1f}" if s in rates else "" for s in systems]
        peaks = ", ".join(f"{max(row['peak_mb'] for row in rows[s])}" if s in rates else "-" for s in systems)
        seconds = ", ".join(f"{median(rows[s], 'cpu_seconds'):.1f} ({median(rows[s], 'cpu_share'):.2f})"
                            if s in rates else "-" for s in systems)
        print(f"| {case.replace(':', ', ')} | {' | '.join(cells)} | {ratio(rates)} | {peaks} | {seconds} |")


main()
