"""The rows of loaders.sh as a table: images a second of each loader, the best of its runs, and ours over the others'.

    python3 bench/peers/loader_table.py ROWS                         # readable names
    python3 bench/peers/loader_table.py ROWS --markdown [TRAINING]   # and the output of torch_training.py

A row is the JSON object of one run of loaders.py. A first epoch of ours, which makes the JPEG indices, and its later ones
stand beside the other's later ones; others keep nothing from epoch to epoch. What failed is left out.
"""

import argparse
import json

OURS, ENGINE = "ridgeline", "engine"
SHOWN = {"torch": "torchvision, PIL", "torch-tensors": "torchvision, tensors", "dali": "DALI, antialias"}


def read(path):
    """{workload: {loader: its best row}}, in the order of the file."""
    best = {}
    for line in open(path):
        row = json.loads(line)
        of = best.setdefault(row["workload"], {})
        if row["loader"] not in of or row["later"] > of[row["loader"]]["later"]:
            of[row["loader"]] = row
    return best


def ratios(ours, other):
    """Of our first epoch and of our later ones, to the other's."""
    return ours["first"] / other["later"], ours["later"] / other["later"]


def share_of_engine(best):
    """What the Python package gives of the engine without it, for each workload that ran both ways."""
    for workload, rows in best.items():
        if OURS in rows and ENGINE in rows:
            ours, engine = rows[OURS]["later"], rows[ENGINE]["later"]
            yield (f"{workload}: the loader gives {ours:,.0f} images/s in later epochs, `dataset bench` over its graph "
                   f"{engine:,.0f}: {100 * ours / engine:.1f} %")


def text(best):
    lines = [f"{'workload':<14}{'loader':<16}{'images/s':>10}{'first':>9}{'later':>9}"]
    for workload, rows in best.items():
        for loader, row in rows.items():
            if loader == ENGINE:
                continue
            line = f"{workload:<14}{loader:<16}{row['later']:>10.0f}"
            if loader == OURS:
                line += f"   (first epoch {row['first']:.0f})"
            elif OURS in rows:
                line += "".join(f"{ratio:>8.2f}x" for ratio in ratios(rows[OURS], row)) + f"  {row['workers']} workers"
            lines.append(line)
    return lines + list(share_of_engine(best))


def markdown(best):
    peers = [name for name in SHOWN if any(name in rows for rows in best.values())]
    lines = ["| workload | ours, first epoch | later |" + "".join(f" {SHOWN[name]} | first | later |" for name in peers),
             "|---|---|---|" + "---|---|---|" * len(peers)]
    for workload, rows in best.items():
        ours = rows.get(OURS)
        cells = [workload, *([f"{ours['first']:,.0f}", f"{ours['later']:,.0f}"] if ours else ["", ""])]
        for name in peers:
            row = rows.get(name)
            cells.append(f"{row['later']:,.0f}" if row else "")
            cells += [f"{ratio:.1f}x" for ratio in ratios(ours, row)] if ours and row else ["", ""]
        lines.append("| " + " | ".join(cells) + " |")
    return lines + [line for share in share_of_engine(best) for line in ("", share)]


def training(path):
    lines = ["| model | this package | PyTorch's loader | ratio | losses apart |", "|---|---|---|---|---|"]
    rows = [line.split() for line in open(path) if not line.startswith("{")]
    return lines + ["| " + " | ".join(cells) + " |" for cells in rows[1:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows")
    parser.add_argument("training", nargs="?")
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    best = read(given.rows)
    print("\n".join(markdown(best) if given.markdown else text(best)))
    if given.training:
        print("\nTraining in PyTorch, images a second with either loader:\n\n" + "\n".join(training(given.training)))


if __name__ == "__main__":
    main()
