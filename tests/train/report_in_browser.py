"""A report's page in a real browser: every curve is drawn and no script fails. Ends with 77 where there is no browser.

    report_in_browser.py RIDGELINE
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
WIDTHS = {"desk": 1280, "phone": 500}  # headless Chromium makes no window narrower than 500


def make_run(directory, rate, steps=40):
    directory.mkdir()
    with open(directory / "metrics.jsonl", "w") as out:
        for step in range(1, steps + 1):
            line = {"kind": "train", "step": step, "epoch": step / 10, "loss": 2.5 / (1 + rate * step),
                    "total_loss": 3.0, "lr": rate, "images_per_second": 200.0 + step % 7, "time": 1.7e9 + step}
            if step == 5:
                line["loss"] = "NaN"
            out.write(json.dumps(line) + "\n")
            if step % 10 == 0:
                out.write(json.dumps({"kind": "evaluation", "step": step, "epoch": step / 10,
                                      "val-top1acc": step / 50, "val-top5acc": 0.9, "val-loss": 1.0, "rows": 10,
                                      "bad_samples": 0, "time": 1.7e9 + step}) + "\n")


def dom_of(browser, folder, page, width):
    """The page as its scripts have drawn it."""
    shown = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
         f"--window-size={width},900", "--virtual-time-budget=2000", "--enable-logging=stderr", "--dump-dom",
         page.as_uri()], check=True, capture_output=True, text=True, timeout=120)
    errors = [line for line in shown.stderr.splitlines() if "CONSOLE" in line]
    assert not errors, errors
    return shown.stdout


def main(ridgeline):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        print("skipped: no chromium here")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, rate in (("slow", 0.1), ("fast </script>", 0.5)):
            make_run(folder / name.replace("/", "-"), rate)
        runs = sorted(str(p) for p in folder.iterdir())
        page = folder / "report.html"
        subprocess.run([ridgeline, "report", *runs, f"--out={page}"], check=True)
        for name, width in WIDTHS.items():
            dom = dom_of(browser, folder, page, width)
            curves = re.findall(r'<path class="curve" d="([^"]*)"', dom)
            assert len(curves) == 10, f"{name}: {len(curves)} curves of two runs in five charts"
            assert all(len(c) > 20 and "NaN" not in c for c in curves), curves
            views = {int(v) for v in re.findall(r'viewBox="0 0 (\d+) ', dom)}
            assert all(280 <= v <= width for v in views), f"{name}: charts as wide as {views} on {width} pixels"
        one = folder / "one"
        make_run(one, 0.1, steps=1)
        subprocess.run([ridgeline, "report", one, f"--out={page}"], check=True)
        dots = len(re.findall("<circle ", dom_of(browser, folder, page, 900)))
        assert dots == 3, f"{dots} dots for the one step of loss, rate and speed"
    print("10 curves on every width")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
