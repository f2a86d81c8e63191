"""Image recognition: a torchvision classifier trained by the four strategies of the paper.

Lawenda et al. (2025), section 3: MobileNetV2 on MNIST. Read `strategies.py` for how data is split
over GPUs, then `training.py` for the loop. Importing this package imports no torch.
"""
