"""The training loop: all frauds and a fresh tenth of the rest each epoch, averaged weights, checkpoints."""
import dataclasses
import math
import pathlib
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

from encoder import Encoder, round_to_f16


@dataclasses.dataclass
class Recipe:
    layers: int = 2
    width: int = 128
    heads: int = 4
    epochs: float = 4
    legit_share: float = 0.1  # of legit rows, drawn anew each epoch
    rate: float = 1e-3
    batch: int = 512
    word_drop: float = 0.05
    weight_decay: float = 0.01
    seed: int = 0


def train(rows, labels, vocabulary: int, positions: int, recipe: Recipe, checkpoint: pathlib.Path | None = None):
    """Trains on rows (ids, int16, equal lengths; id 0 is padding) and labels (0/1).

    The classifier's bias is moved by log(legit_share), so that sigmoid(logit) is at the rows' own prior.
    With `checkpoint` the state is kept after each epoch and training goes on from it.
    """
    torch.manual_seed(recipe.seed)
    rng = np.random.RandomState(recipe.seed)
    model = Encoder(vocabulary, positions, recipe.layers, recipe.width, recipe.heads)
    frauds, legit = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    drawn = max(1, int(len(legit) * recipe.legit_share))
    per_epoch = (len(frauds) + drawn) // recipe.batch
    steps = max(1, int(recipe.epochs * per_epoch))
    warm = max(50, steps // 20)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=recipe.rate, weight_decay=recipe.weight_decay, betas=(0.9, 0.98)
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda i: min(1, (i + 1) / warm) * (0.5 + 0.5 * math.cos(math.pi * min(1, i / steps))) + 0.01,
    )
    average = [p.detach().clone() for p in model.parameters()]
    done = first_epoch = 0
    if checkpoint is not None and checkpoint.exists():
        state = torch.load(checkpoint, weights_only=False)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        average, done, first_epoch = state["average"], state["done"], state["epoch"]
        rng.set_state(state["rng"])
        print(f"going on from {checkpoint}, epoch {first_epoch}", file=sys.stderr)
    began = time.time()
    pads = bool((rows == 0).any())
    for epoch in range(first_epoch, math.ceil(recipe.epochs)):
        order = np.r_[frauds, rng.choice(legit, drawn, replace=False)]
        rng.shuffle(order)
        if pads:  # rows of like length side by side, so that a batch has little padding
            lengths = (rows[order] != 0).sum(1)
            chunk = recipe.batch * 8
            order = np.concatenate([order[i : i + chunk][np.argsort(lengths[i : i + chunk], kind="stable")]
                                    for i in range(0, len(order), chunk)])
            batches = [order[i : i + recipe.batch] for i in range(0, len(order) - recipe.batch + 1, recipe.batch)]
            rng.shuffle(batches)
            order = np.concatenate(batches)
        model.train()
        total = 0.0
        for i in range(0, len(order) - recipe.batch + 1, recipe.batch):
            if done >= steps:
                break
            pick = order[i : i + recipe.batch]
            picked = rows[pick]
            longest = int((picked != 0).sum(1).max()) if pads else picked.shape[1]
            ids = torch.from_numpy(np.ascontiguousarray(picked[:, :longest])).long()
            hidden = ids == 0 if pads else None
            loss = F.binary_cross_entropy_with_logits(
                model(ids, hidden, recipe.word_drop), torch.from_numpy(labels[pick].astype(np.float32))
            )
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            done += 1
            total += loss.item()
            weight = min(0.999, (done + 1) / (done + 10))
            torch._foreach_lerp_(average, [p.detach() for p in model.parameters()], 1 - weight)
            if done % 20 == 0:
                rate = (time.time() - began) / max(1, done - first_epoch * per_epoch)
                print(f"\r  step {done}/{steps}  loss {loss.item():.4f}  {(steps - done) * rate:4.0f} s left ",
                      end="", file=sys.stderr, flush=True)
        if checkpoint is not None:
            torch.save(
                dict(model=model.state_dict(), optimizer=optimizer.state_dict(), schedule=schedule.state_dict(),
                     average=average, done=done, epoch=epoch + 1, rng=rng.get_state()),
                checkpoint,
            )
    print(file=sys.stderr)
    with torch.no_grad():
        for parameter, mean in zip(model.parameters(), average):
            parameter.copy_(mean)
        model.classifier.bias += math.log(drawn / len(legit))
    round_to_f16(model)
    model.eval()
    return model
