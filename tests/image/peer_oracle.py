#!/usr/bin/env python3
"""What OpenCV and torchvision answer, for tests/image. Neither is installed by set-up: a Python that has one is named
by RIDGELINE_OPENCV_PYTHON or RIDGELINE_TORCH_PYTHON; without them the tests use the vectors kept in tests/data/image.

  peer_oracle.py resize CASES RESULTS   each case: a line "filter height width channels out_height out_width", pixels
  peer_oracle.py blur CASES RESULTS     each case: a line "blur height width channels kernel_x kernel_y sigma_x sigma_y"
  peer_oracle.py golden_opencv          prints tests/data/image/opencv_golden.txt
  peer_oracle.py golden_torch           prints tests/data/image/torch_golden.txt
  peer_oracle.py golden_policies        prints tests/data/image/policy_golden.txt
  peer_oracle.py golden_mix             prints tests/data/image/mix_golden.txt
"""
import sys

import numpy as np


def opencv_resize(name, array, out_height, out_width):
    import cv2
    cv2.ipp.setUseIPP(False)  # IPP has another cubic filter; MindData builds OpenCV without it
    codes = {"opencv_nearest": cv2.INTER_NEAREST, "opencv_linear": cv2.INTER_LINEAR, "opencv_cubic": cv2.INTER_CUBIC,
             "opencv_area": cv2.INTER_AREA}
    return cv2.resize(array, (out_width, out_height), interpolation=codes[name])


def torch_resize(name, array, out_height, out_width):
    import torch
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms.v2 import functional
    mode = InterpolationMode.BICUBIC if name.endswith("bicubic") else InterpolationMode.BILINEAR
    image = torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))
    out = functional.resize(image, [out_height, out_width], mode, antialias=not name.startswith("torch_"))
    return out.numpy().transpose(1, 2, 0)


def torch_blur(array, kernel, sigma):
    import torch
    from torchvision.transforms.v2 import functional
    image = torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))
    return functional.gaussian_blur(image, kernel, sigma).numpy().transpose(1, 2, 0)


def resized(name, array, out_height, out_width):
    resize = opencv_resize if name.startswith("opencv_") else torch_resize
    return resize(name, array, out_height, out_width)


def pixels(height, width, channels):
    """The picture of the vectors: tests make the same."""
    i = np.arange(height * width * channels, dtype=np.int64)
    return ((i * 73 + i * i * 19 + (i >> 3) * 101) & 255).astype(np.uint8).reshape(height, width, channels)


def cases(source):
    while line := source.readline():
        name, height, width, channels, *numbers = line.decode().split()
        shape = int(height), int(width), int(channels)
        yield name, np.frombuffer(bytearray(source.read(shape[0] * shape[1] * shape[2])), np.uint8).reshape(shape), numbers


def golden(names):
    sizes = [((7, 5), (3, 4)), ((4, 6), (9, 5)), ((12, 16), (2, 3)), ((5, 5), (5, 3)), ((5, 3), (8, 3)),
             ((1, 1), (2, 3)), ((6, 40), (3, 7)), ((8, 12), (4, 6)), ((9, 12), (3, 4)), ((4, 6), (8, 12)),
             ((13, 11), (5, 10)), ((10, 9), (12, 4)), ((6, 6), (6, 6))]
    for name in names:
        for (height, width), (out_height, out_width) in sizes:
            for channels in (3, 1):
                out = resized(name, pixels(height, width, channels), out_height, out_width)
                print(name, height, width, channels, out_height, out_width, out.tobytes().hex())


def golden_policies():
    """torchvision's tables, and its operations on PIL images (needs a Pillow older than 13)."""
    import torchvision
    from PIL import Image
    from torchvision.transforms import autoaugment as auto
    for policy in auto.AutoAugmentPolicy:
        for pair in auto.AutoAugment(policy).policies:
            print("pair", policy.value, *(f"{op} {p} {0 if m is None else m}" for op, p, m in pair))
    size = (300, 224)
    for name, bins, space in [("usual", 10, auto.AutoAugment()._augmentation_space(10, size)),
                              ("usual", 31, auto.RandAugment()._augmentation_space(31, size)),
                              ("wide", 31, auto.TrivialAugmentWide()._augmentation_space(31))]:
        for op, (magnitudes, signed) in space.items():
            values = magnitudes.tolist() if magnitudes.ndim else [0.0] * bins
            print("space", name, *size, bins, op, int(signed), *values)
    magnitudes = {"Identity": [0], "ShearX": [0.29, -0.13], "ShearY": [0.99, -0.2], "TranslateX": [3.7, -2.2],
                  "TranslateY": [5.5, -1.0], "Rotate": [30, -97.5], "Brightness": [0.9, -0.63], "Color": [0.33, -0.99],
                  "Contrast": [0.5, -0.5], "Sharpness": [0.9, -0.27], "Posterize": [4, 2], "Solarize": [110.5, 0],
                  "AutoContrast": [0], "Equalize": [0], "Invert": [0]}
    modes = [(torchvision.transforms.InterpolationMode.NEAREST, None),
             (torchvision.transforms.InterpolationMode.BILINEAR, [7, 77, 177])]
    for op, values in magnitudes.items():
        for i, magnitude in enumerate(values):
            for sampling, (mode, fill) in enumerate(modes):
                image = Image.fromarray(pixels(9 + i, 11, 3))
                out = auto._apply_op(image, op, magnitude, mode, fill)
                print("apply", op, magnitude, sampling, image.height, image.width, out.tobytes().hex())
    from torchvision.transforms import functional
    for angle, translate, scale, shear in [(33, (2, -1), 1.3, (12, -21)), (-75.5, (0, 0), 0.7, (0, 8)),
                                           (180, (1, 1), 1, (-30, 0)), (0.1, (-3, 0), 2.5, (0, 0))]:
        for sampling, mode in enumerate(["nearest", "bilinear", "bicubic"]):
            image = Image.fromarray(pixels(10, 13, 3))
            centre = [image.width * 0.5, image.height * 0.5]
            matrix = functional._get_inverse_affine_matrix(centre, angle, translate, scale, shear)
            out = functional.affine(image, float(angle), list(translate), scale, list(shear),
                                    torchvision.transforms.InterpolationMode(mode), [17, 130, 240])
            print("affine", angle, *translate, scale, *shear, *matrix, sampling, 10, 13, out.tobytes().hex())


def golden_mix():
    """v2's MixUp and CutMix with given draws; draws in hexadecimal, values as short as they are exact."""
    import torch
    from torchvision.transforms import v2
    labels = torch.eye(4)[[3, 0, 1]]
    i = torch.arange(3 * 6 * 7 * 2, dtype=torch.float32)
    images = ((i * 37 + i * i * 11) % 251 / 251.0).reshape(3, 6, 7, 2).permute(0, 3, 1, 2).contiguous()

    def show(tensor):
        return " ".join(np.format_float_positional(v, trim="-") for v in tensor.flatten().numpy())

    def nhwc(tensor):
        return tensor.permute(0, 2, 3, 1).contiguous()

    for lam in (0.0, 1.0, 0.3, 0.7182818284590452):
        params = {"labels": labels, "batch_size": 3, "lam": lam}
        mixup = v2.MixUp(num_classes=4)
        print("mixup", lam.hex(), show(nhwc(mixup.transform(images, params))), show(mixup.transform(labels, params)))
    for lam, row, column in ((0.5, 3, 3), (0.1, 0, 6), (0.9, 5, 0), (0.0, 2, 2), (1.0, 1, 1)):
        cutmix = v2.CutMix(num_classes=4)
        cutmix._dist = type("Fixed", (), {"sample": lambda self, shape: lam})()
        drawn = iter([torch.tensor([column]), torch.tensor([row])])
        original, torch.randint = torch.randint, lambda *args, **kwargs: next(drawn)
        try:
            params = cutmix.make_params([images])
        finally:
            torch.randint = original
        params.update(labels=labels, batch_size=3)
        print("cutmix", lam.hex(), row, column, *params["box"], params["lam_adjusted"].hex(),
              show(nhwc(cutmix.transform(images, params))), show(cutmix.transform(labels, params)))


def main():
    mode = sys.argv[1]
    if mode == "golden_mix":
        return golden_mix()
    if mode == "golden_policies":
        return golden_policies()
    if mode == "golden_opencv":
        return golden(["opencv_nearest", "opencv_linear", "opencv_cubic", "opencv_area"])
    if mode == "golden_torch":
        golden(["torch_bilinear", "torch_bicubic", "bilinear", "bicubic"])
        for (height, width), kernel, sigma in [((9, 11), (3, 3), (0.8, 0.8)), ((12, 10), (7, 5), (2.0, 0.6)),
                                               ((8, 8), (9, 9), (1.7, 1.7)), ((6, 30), (23, 1), (3.8, 1.0))]:
            for channels in (3, 1):
                out = torch_blur(pixels(height, width, channels), list(kernel), list(sigma))
                print("blur", height, width, channels, *kernel, *sigma, out.tobytes().hex())
        return None
    with open(sys.argv[2], "rb") as source, open(sys.argv[3], "wb") as target:
        for name, array, numbers in cases(source):
            if mode == "resize":
                out = resized(name, array, int(numbers[0]), int(numbers[1]))
            else:
                kernel, sigma = [int(n) for n in numbers[:2]], [float(n) for n in numbers[2:]]
                out = torch_blur(array, kernel, sigma)
            target.write(np.ascontiguousarray(out).tobytes())
    return None


if __name__ == "__main__":
    main()
