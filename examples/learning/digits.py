#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes scikit-learn's digits, 1,797 images of 8 x 8 pixels, in MNIST's file format for the task `mnist`:
`python3 examples/learning/digits.py FOLDER`. Needs scikit-learn (Debian: python3-sklearn), which contains the images.

The split is that of scikit-learn's example "Recognizing hand-written digits": the first 898 images for training, the other
899 for the test. Values 0 to 16 become 0 to 255, rounded."""
import struct
import sys
from pathlib import Path
from typing import Sequence

TRAINING_SAMPLES = 898


def write_split(folder: Path, name: str, images: Sequence[Sequence[Sequence[float]]], labels: Sequence[int]) -> None:
    """Writes `<name>-images-idx3-ubyte` and `<name>-labels-idx1-ubyte`. Values of `images` are 0 to 16."""
    pixels = bytes(round(float(value) * 255 / 16) for image in images for row in image for value in row)
    (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4B3I", 0, 0, 8, 3, len(images), len(images[0]), len(images[0][0])) + pixels)
    (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">4BI", 0, 0, 8, 1, len(labels)) + bytes(map(int, labels)))


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit("digits.py: there is no scikit-learn (Debian: python3-sklearn)")
    digits, folder = load_digits(), Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write_split(folder, "train", digits.images[:TRAINING_SAMPLES], digits.target[:TRAINING_SAMPLES])
    write_split(folder, "t10k", digits.images[TRAINING_SAMPLES:], digits.target[TRAINING_SAMPLES:])


if __name__ == "__main__":
    main()
