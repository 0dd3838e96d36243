"""Runs what bench/scaling.sh describes."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import plan
import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH = 128  # settings of the data engine
KEEPING = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "17179869184",
           "MALLOC_TOP_PAD_": "268435456"}  # bench/peers/keeping.sh says why


def on_cores(count):
    """For a child: `count` processors, one a core as far as there are as many."""
    first, others = plan.cores()
    chosen = (first + others)[:count]
    return lambda: os.sched_setaffinity(0, chosen)


class Failed(Exception):
    pass


class Runner:
    def __init__(self, photos, end):
        self.photos, self.end = photos, end
        self.ridgeline = os.environ.get("RIDGELINE", str(ROOT / "build/ridgeline"))
        self.python = os.environ.get("RIDGELINE_TORCH_PYTHON")
        self.server = None
        self.known = {}  # (system, case, threads): milliseconds per step
        self.data_seconds = {}  # system: result of the last run

    def expected(self, work):
        """Seconds of a step, from what was measured with other numbers of threads; None: nothing was."""
        times = [ms * threads for (system, case, threads), ms in self.known.items()
                 if (system, case) == (work.system, work.case)]
        return max(times) / work.threads / 1e3 if times else None

    def seconds(self, work):
        """At least so long will it take."""
        if work.kind == "data":  # the same number of images per thread each time
            return self.data_seconds.get(work.system, 4)
        step = self.expected(work)
        return 2 if step is None else 1.5 + 4 * step

    def child(self, command, threads, environment):
        settings = dict(environment)
        if numactl := settings.pop("numactl", None):
            command = ["numactl", *numactl.split(), *command]
        done = subprocess.run(command, preexec_fn=on_cores(threads), env={**os.environ, **settings}, text=True,
                              capture_output=True, timeout=max(5, self.end - time.monotonic()))
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines:
            raise Failed((done.stderr.strip().splitlines() or ["no result"])[-1])
        return json.loads(lines[-1])

    def step_of_ours(self, work):
        model, batch, precision = work.case.split(":")
        step = self.expected(work)
        steps = 5 if step is None else max(1, min(7, int(2 / step)))
        command = [self.ridgeline, "bench", "step", f"--model={model}", f"--batch_size={batch}",
                   f"--precision={precision}", f"--steps={steps}", "--json", "--layers"]
        return self.child(command, work.threads, plan.SETTINGS.get(work.setting, {}))

    def step_of_torch(self, work):
        if self.server is None:
            self.server = subprocess.Popen([self.python, ROOT / "bench/peers/torch_scaling.py"], text=True, bufsize=1,
                                           env={**os.environ, **KEEPING}, stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE)
        print(work.case, work.threads, ",".join(map(str, sum(plan.cores(), [])[:work.threads])),
              file=self.server.stdin, flush=True)
        line = self.server.stdout.readline()
        if not line:
            self.server = None
            raise Failed("PyTorch ended")
        return json.loads(line)

    def data_of_ours(self, work):
        with tempfile.TemporaryDirectory() as folder:
            rows, photos = {}, linked(self.photos, 5 * work.threads, pathlib.Path(folder))
            for name, epochs, warmup in (("first", 1, 0), ("later", 3, 1)):
                epoch = len(list(photos.glob("*/*"))) // BATCH
                command = [self.ridgeline, "dataset", "bench", f"--data_dir={photos}", f"--batch_size={BATCH}",
                           f"--workers={work.threads}", f"--epochs={epochs}", f"--warmup={warmup * epoch + 2}",
                           "--jpeg_index_directory=none", "--json"]
                rows[name] = self.child(command, work.threads, {})
        return {"images_per_second": rows["first"]["images_per_second"],
                "later": rows["later"]["images_per_second"]}

    def data_of_torch(self, work):
        command = [self.python, ROOT / "bench/peers/loaders.py", "torch", "plain", self.photos, "--workers",
                   str(work.threads), "--images", str(96 * work.threads + 64)]
        row = self.child(command, work.threads, {})
        return {"images_per_second": row["later"], "later": row["later"]}

    def run(self, work):
        of = {("step", "ridgeline"): self.step_of_ours, ("setting", "ridgeline"): self.step_of_ours,
              ("step", "torch"): self.step_of_torch, ("data", "ridgeline"): self.data_of_ours,
              ("data", "torch"): self.data_of_torch}[work.kind, work.system]
        begin = time.monotonic()
        row = of(work)
        if work.kind == "data":
            self.data_seconds[work.system] = time.monotonic() - begin
        if work.kind == "step":
            self.known[work.system, work.case, work.threads] = row["ms_per_step"]
        return row

    def close(self):
        if self.server is not None:
            self.server.kill()


def linked(photos, copies, into):
    """The photos many times over, through links, so that an epoch is long."""
    for file in sorted(photos.glob("*/*")):
        (into / file.parent.name).mkdir(exist_ok=True)
        for copy in range(copies):
            (into / file.parent.name / f"{file.stem}_{copy}{file.suffix}").symlink_to(file.resolve())
    return into


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/scaling")
    parser.add_argument("--seconds", type=float, default=240, help="nothing is begun that would end later")
    parser.add_argument("--threads", default="", help="numbers of threads; by default 1, 2, 4, ... and all cores")
    parser.add_argument("--cases", default=",".join(plan.CASES))
    parser.add_argument("--photos", type=pathlib.Path)
    parser.add_argument("--settings", default="none", help="all, none, or names with commas")
    given = parser.parse_args()
    given.threads = [int(n) for n in given.threads.split(",")] if given.threads else plan.default_threads()
    given.cases = [case for case in given.cases.split(",") if case]
    named = {"all": list(plan.SETTINGS), "none": []}.get(given.settings)
    given.settings = given.settings.split(",") if named is None else named
    for name in given.settings:
        if name not in plan.SETTINGS:
            parser.error(f"--settings: unknown {name!r} (allowed: all, none, {', '.join(plan.SETTINGS)})")
    if not shutil.which("numactl"):
        given.settings = [s for s in given.settings if "numactl" not in plan.SETTINGS[s]]
    if given.photos and not any(given.photos.glob("*/*")):
        parser.error(f"--photos {given.photos}: no files in class folders")
    return given


def machine():
    """What the curves depend on, as far as the system tells."""
    facts = {"kind": "machine", "cores": len(plan.cores()[0]), "processors": len(os.sched_getaffinity(0)),
             "load": os.getloadavg()[0]}
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            facts["processor"] = line.split(":", 1)[1].strip()
            break
    facts["memory_nodes"] = len(list(pathlib.Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1
    try:
        facts["huge_pages"] = open("/sys/kernel/mm/transparent_hugepage/enabled").read().strip()
        facts["last_cache"] = open("/sys/devices/system/cpu/cpu0/cache/index3/size").read().strip()
    except OSError:
        pass
    return facts


def main():
    given = arguments()
    begin = time.monotonic()
    end = begin + given.seconds
    given.out.mkdir(parents=True, exist_ok=True)
    systems = {"ridgeline"} | ({"torch"} if os.environ.get("RIDGELINE_TORCH_PYTHON") else set())
    rows = [machine()]
    rows_file = open(given.out / "rows.jsonl", "w")
    launches = open(given.out / "launches.jsonl", "w")
    print(json.dumps(rows[0]), file=rows_file, flush=True)
    ends = (min(given.threads), max(given.threads))
    for file in given.photos.glob("*/*") if given.photos else ():
        file.read_bytes()  # into the page cache
    runner = Runner(given.photos, end)
    try:
        for work in plan.in_order(given.cases, given.threads, systems, given.photos, given.settings):
            name = f"{work.kind} {work.system} {work.case} {work.threads} {work.setting}".strip()
            if time.monotonic() + runner.seconds(work) > end:
                print(f"{name}: left out, no time", flush=True)
                continue
            since = time.monotonic()
            try:
                result = runner.run(work)
            except (Failed, subprocess.TimeoutExpired, OSError, KeyError, ValueError) as error:
                print(f"{name}: failed: {error}", flush=True)
                continue
            row = {"kind": work.kind, "system": work.system, "case": work.case, "threads": work.threads,
                   "setting": work.setting,
                   **{key: value for key, value in result.items() if key not in ("layers", "timeline", "without")}}
            rows.append(row)
            print(json.dumps(row), file=rows_file, flush=True)
            if "layers" in result and work.kind == "step" and work.threads in ends:
                for layer in result["layers"]:
                    print(json.dumps({"case": work.case, "threads": work.threads, **layer}), file=launches)
                launches.flush()
            report.write(given.out, rows)
            print(f"{name}: {row['images_per_second']:.1f} images/s ({time.monotonic() - since:.1f} s, at "
                  f"{time.monotonic() - begin:.0f} s)", flush=True)
    finally:
        runner.close()
    print((given.out / "table.md").read_text() if len(rows) > 1 else "nothing was measured")


main()
