"""An exported model, checked and run by the official tools.

    python onnx_logits.py MODEL.onnx INPUT.safetensors OUTPUT.safetensors

The input holds `images` as the model takes them; the output `logits` and `probabilities`. Fails where onnx's checker
finds a fault, also in shapes. Needs onnx, onnxruntime and numpy.
"""
import json
import struct
import sys

import numpy
import onnx
import onnxruntime


def read_images(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    entry = header["images"]
    begin, end = entry["data_offsets"]
    return numpy.frombuffer(data[begin:end], {"U8": numpy.uint8, "F32": numpy.float32}[entry["dtype"]]).reshape(
        entry["shape"])


def write(path, arrays):
    header, blobs, offset = {}, [], 0
    for name, array in arrays.items():
        blob = numpy.ascontiguousarray(array, numpy.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main(model_path, input_path, output_path):
    onnx.checker.check_model(model_path, full_check=True)
    session = onnxruntime.InferenceSession(model_path, providers=["CPUExecutionProvider"])
    images = read_images(input_path)
    names = [output.name for output in session.get_outputs()]
    write(output_path, dict(zip(names, session.run(names, {"images": images}))))


if __name__ == "__main__":
    main(*sys.argv[1:])
