"""Run by the Python that has numpy and Pillow (make deps-test): images in the layouts of CelebA and of
MedMNIST, as their makers write them.

    make_images.py celeba FOLDER TRAINING VALIDATION TEST
    make_images.py medmnist FILE.npz HEIGHT CHANNELS TRAINING VALIDATION TEST [groups] [plain]
"""

import os
import sys

import numpy
from PIL import Image

dice = numpy.random.default_rng(5)
NAMES = ("5_o_Clock_Shadow Arched_Eyebrows Attractive Bags_Under_Eyes Bald Bangs Big_Lips Big_Nose "
         "Black_Hair Blond_Hair Blurry Brown_Hair Bushy_Eyebrows Chubby Double_Chin Eyeglasses Goatee "
         "Gray_Hair Heavy_Makeup High_Cheekbones Male Mouth_Slightly_Open Mustache Narrow_Eyes No_Beard "
         "Oval_Face Pale_Skin Pointy_Nose Receding_Hairline Rosy_Cheeks Sideburns Smiling Straight_Hair "
         "Wavy_Hair Wearing_Earrings Wearing_Hat Wearing_Lipstick Wearing_Necklace Wearing_Necktie "
         "Young").split()


def face(height, width, smiles, male):
    """Bright below where it smiles, bluer where it is male."""
    a = dice.integers(0, 90, (height, width, 3))
    a[height // 2:] += 120 * smiles
    a[:, :, 2] += 40 * male
    return a.astype(numpy.uint8)


def celeba(folder, *counts):
    os.makedirs(os.path.join(folder, "img_align_celeba"))
    parts = numpy.repeat([0, 1, 2], [int(c) for c in counts])
    values = numpy.where(dice.random((len(parts), 40)) < .5, 1, -1)
    names = [f"{i + 1:06d}.jpg" for i in range(len(parts))]
    with open(os.path.join(folder, "list_attr_celeba.txt"), "w", encoding="ascii") as f:
        f.write(f"{len(names)}\n{' '.join(NAMES)} \n")
        f.writelines(f"{name} {' '.join(f'{v:2d}' for v in row)}\n" for name, row in zip(names, values))
    with open(os.path.join(folder, "list_eval_partition.txt"), "w", encoding="ascii") as f:
        f.writelines(f"{name} {part}\n" for name, part in zip(names, parts))
    for name, part, row in zip(names, parts, values):
        if part != 1:  # fisctl has no use for them
            image = face(109, 89, row[NAMES.index("Smiling")] > 0, row[NAMES.index("Male")] > 0)
            Image.fromarray(image).save(os.path.join(folder, "img_align_celeba", name), quality=90)


def medmnist(path, height, channels, *more):
    counts = dict(zip(("train", "val", "test"), (int(c) for c in more[:3])))
    arrays, height, channels = {}, int(height), int(channels)
    for part, n in counts.items():
        if n == 0:
            continue
        label, group = dice.integers(0, 2, (2, n))
        images = [face(height, height, y, g) for y, g in zip(label, group)]
        images = numpy.array(images)[..., :channels]
        arrays[f"{part}_images"] = images[..., 0] if channels == 1 else images
        arrays[f"{part}_labels"] = label.astype(numpy.uint8)[:, None]
        if "groups" in more:
            arrays[f"{part}_groups"] = group.astype("<i4")
    (numpy.savez if "plain" in more else numpy.savez_compressed)(path, **arrays)


{"celeba": celeba, "medmnist": medmnist}[sys.argv[1]](*sys.argv[2:])
