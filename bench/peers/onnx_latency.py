"""How long a prediction takes in onnxruntime: what bench/infer.cpp measures of our own file.

    python onnx_latency.py MODEL.onnx [BATCH...]        1 and 32

Pixels are drawn, never zeros. Threads: as many as the process may use cores.
"""
import os
import statistics
import sys
import time

import numpy
import onnxruntime


def main(path, batches):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    source = session.get_inputs()[0]
    random = numpy.random.default_rng(1)
    for batch in batches:
        shape = [batch] + list(source.shape[1:])
        if source.type == "tensor(uint8)":
            images = random.integers(0, 256, shape, numpy.uint8)
        else:
            images = random.uniform(-2, 2, shape).astype(numpy.float32)
        times, begin = [], time.perf_counter()
        for run in range(2000):
            if run >= 5 and time.perf_counter() - begin > 4:
                break
            start = time.perf_counter()
            session.run(None, {source.name: images})
            if run >= 2:
                times.append(1000 * (time.perf_counter() - start))
        median = statistics.median(times)
        print(f"{os.path.basename(path)} batch {batch}: median {median:.2f} ms, least {min(times):.2f} ms, "
              f"{1000 * batch / median:.1f} images/s ({len(times)} runs), onnxruntime {onnxruntime.__version__}")


if __name__ == "__main__":
    main(sys.argv[1], [int(word) for word in sys.argv[2:]] or [1, 32])
