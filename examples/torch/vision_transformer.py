# SPDX-License-Identifier: Apache-2.0
"""Replaces the blocks of a vision transformer with Sliceformer's, and trains it for some steps on random images. The
model has the structure of timm's: a patch embedding, a class token, `blocks`, a norm and a head."""
import torch
from slicesort_torch.nn import SliceformerBlock
from torch import nn


class VisionTransformer(nn.Module):
    def __init__(self, image=32, patch=4, width=64, depth=4, heads=4, classes=10):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, width, patch, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.randn(1, (image // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.Sequential(*(nn.TransformerEncoderLayer(width, heads, 2 * width, batch_first=True,
                                                                 norm_first=True) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, images):
        patches = self.patch_embed(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(len(images), -1, -1), patches), dim=1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


torch.manual_seed(0)
model = VisionTransformer()

# Replaces the blocks.
layers, width = len(model.blocks), model.norm.normalized_shape[0]
for i in range(layers):
    model.blocks[i] = SliceformerBlock(width, order=f"interleave{{{i + 1}, {layers}}}")

images, labels = torch.randn(64, 3, 32, 32), torch.randint(10, (64,))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(30):
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0 or step == 29:
        print(f"step {step}: loss {loss.item():.3f}")
assert loss.item() < 0.5, "the model did not memorize the images"
