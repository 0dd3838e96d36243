"""The rows of bench/scaling.sh as a Markdown table and as curves in an SVG.

    python3 bench/scaling/report.py DIR      # rewrites DIR/table.md and DIR/curve.svg from DIR/rows.jsonl
"""

import json
import math
import pathlib
import sys

RULERS = (("multiply-adds", "peak_gflops", "GFLOP/s"), ("bf16 products", "peak_bf16_gflops", "GFLOP/s"),
          ("memory", "peak_gigabytes_per_second", "GB/s"))
COLOURS = ("#1b6ca8", "#c1440e", "#2e7d32", "#7b1fa2", "#b8860b")
NAMES = {"ridgeline": "ours", "torch": "PyTorch"}


def rates(rows, kind):
    """{(case, system): {threads: row}}"""
    of = {}
    for row in rows:
        if row["kind"] == kind:
            of.setdefault((row["case"], row["system"]), {})[row["threads"]] = row
    return of


def rulers(rows):
    """{name: {threads: the median of what the steps with so many threads measured}}"""
    of = {}
    for name, key, _ in RULERS:
        for row in rows:
            if row["kind"] == "step" and row.get(key):
                of.setdefault(name, {}).setdefault(row["threads"], []).append(row[key])
    return {name: {n: sorted(values)[len(values) // 2] for n, values in counts.items()} for name, counts in of.items()}


def gains(values):
    """Over one thread; empty where one thread was not measured."""
    return {n: value / values[1] for n, value in values.items()} if values.get(1) else {}


def cells(values, threads, form):
    return [form.format(values[n]) if n in values else "" for n in threads]


def line(first, values):
    return f"| {first} | {' | '.join(values)} |"


def table(rows):
    steps, data, ruler = rates(rows, "step"), rates(rows, "data"), rulers(rows)
    threads = sorted({row["threads"] for row in rows if "threads" in row})
    head = [line("images/s, and gain over one thread", [f"{n}" for n in threads]), "|---" * (len(threads) + 1) + "|"]
    out = ["How steps and data scale with threads", "", f"`{json.dumps(rows[0])}`", "", *head]
    for name, _, unit in RULERS:
        if name in ruler:
            values = cells(ruler[name], threads, "{:.0f}")
            gain = cells(gains(ruler[name]), threads, " ({:.1f})")
            out.append(line(f"machine: {name}, {unit}", [v + g for v, g in zip(values, gain)]))
    for (case, system), counts in {**steps, **data}.items():
        for key, suffix in (("images_per_second", ""), ("later", ", later epochs")):
            values = {n: row[key] for n, row in counts.items() if key in row}
            if not values or key == "later" and system == "torch":
                continue
            shown, gain = cells(values, threads, "{:.1f}"), gains(values)
            text = [v + (f" ({gain[n]:.1f})" if n in gain else "") for v, n in zip(shown, threads)]
            out.append(line(f"{case}{suffix}, {NAMES[system]}", text))
    out += ["", line("ours over PyTorch", [f"{n}" for n in threads]), "|---" * (len(threads) + 1) + "|"]
    for all_rates in (steps, data):
        for case in dict.fromkeys(case for case, _ in all_rates):
            ours, theirs = all_rates.get((case, "ridgeline"), {}), all_rates.get((case, "torch"), {})
            ratio = {n: ours[n]["images_per_second"] / theirs[n]["images_per_second"] for n in ours if n in theirs}
            if ratio:
                out.append(line(case, cells(ratio, threads, "{:.2f}")))
    out += ["", line("our gain over the machine's", [f"{n}" for n in threads]), "|---" * (len(threads) + 1) + "|"]
    for (case, system), counts in steps.items():
        ours = gains({n: row["images_per_second"] for n, row in counts.items()})
        if system != "ridgeline" or not ours:
            continue
        for name in ruler:
            of = gains(ruler[name])
            out.append(line(f"{case}, {name}", cells({n: ours[n] / of[n] for n in ours if n in of}, threads, "{:.2f}")))
    settings = [row for row in rows if row["kind"] == "setting"]
    if settings:
        out += ["", "| setting | case | ms a step (fastest) | as chosen |", "|---|---|---|---|"]
        for row in settings:
            chosen = steps.get((row["case"], "ridgeline"), {}).get(row["threads"])
            out.append(f"| {row['setting']} | {row['case']} | {row['ms_per_step']:.1f} ({row['ms_fastest']:.1f}) | "
                       + (f"{chosen['ms_per_step']:.1f} ({chosen['ms_fastest']:.1f})" if chosen else "") + " |")
    return "\n".join(out) + "\n"


def curves(rows):
    """[(name, {threads: gain}, dashed)]"""
    found = [(f"machine: {name}", gains(values), True) for name, values in rulers(rows).items()]
    for kind in ("step", "data"):
        for (case, system), counts in rates(rows, kind).items():
            values = gains({n: row["images_per_second"] for n, row in counts.items()})
            found.append((f"{case}, {NAMES[system]}", values, False))
    return [(name, values, dashed) for name, values, dashed in found if len(values) > 1]


def svg(rows):
    """Gain over one thread against threads, both on scales of factors of two."""
    drawn = curves(rows)
    most = max([2] + [n for _, values, _ in drawn for n in values])
    width, height, left, top = 640, 480, 60, 30
    steps = math.log2(most)

    def x(n):
        return left + math.log2(n) / steps * width

    def y(gain):
        return top + height - math.log2(max(gain, 0.5)) / steps * height

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 330}" height="{top + height + 60}" '
           'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>',
           f'<line x1="{x(1)}" y1="{y(1)}" x2="{x(most)}" y2="{y(most)}" stroke="#bbbbbb"/>']
    n = 1
    while n <= most:
        out.append(f'<text x="{x(n):.1f}" y="{top + height + 20}" text-anchor="middle">{n}</text>')
        out.append(f'<text x="{left - 10}" y="{y(n) + 4:.1f}" text-anchor="end">{n}</text>')
        out.append(f'<line x1="{left}" y1="{y(n):.1f}" x2="{left + width}" y2="{y(n):.1f}" stroke="#eeeeee"/>')
        n *= 2
    out.append(f'<text x="{left + width / 2}" y="{top + height + 45}" text-anchor="middle">threads</text>')
    out.append(f'<text x="{left}" y="{top - 10}">gain over one thread</text>')
    for i, (name, values, dashed) in enumerate(drawn):
        colour = "#555555" if dashed else COLOURS[i % len(COLOURS)]
        dash = ' stroke-dasharray="6 4"' if dashed else ' stroke-dasharray="2 3"' if name.endswith("PyTorch") else ""
        points = " ".join(f"{x(n):.1f},{y(values[n]):.1f}" for n in sorted(values))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        at = top + 16 * i + 10
        out.append(f'<line x1="{left + width + 15}" y1="{at}" x2="{left + width + 45}" y2="{at}" stroke="{colour}" '
                   f'stroke-width="2"{dash}/>')
        out.append(f'<text x="{left + width + 50}" y="{at + 4}">{name} ({values[max(values)]:.1f})</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def write(folder, rows):
    (folder / "table.md").write_text(table(rows))
    (folder / "curve.svg").write_text(svg(rows))


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1])
    write(place, [json.loads(row) for row in open(place / "rows.jsonl")])
