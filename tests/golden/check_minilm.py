#!/usr/bin/env python3
"""Holds `tollgate model embed` against transformers on a real MiniLM: last hidden states and pooled vectors.

Usage: check_minilm.py TOLLGATE MODEL_FOLDER TEXTS [COUNT]      needs torch and transformers
TEXTS is a CSV whose first column is text, or one text a line. Not part of the test suite: the model is 90 MB.
Prints the largest absolute differences in fp32, and the mean cosine of int8.
"""
import csv
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer


def ours(tollgate, model, texts, *more):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(texts) + "\n")
        file.flush()
        done = subprocess.run([tollgate, "model", "embed", model, "--input", file.name, *more], capture_output=True,
                              text=True, check=True)
    return np.array([[float(v) for v in line.split()] for line in done.stdout.splitlines()])


def main() -> None:
    tollgate, model, path = sys.argv[1:4]
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 1000
    if path.endswith(".csv"):
        with open(path, newline="") as file:
            texts = [row[0].replace("\n", " ") for row in csv.reader(file)][1 : count + 1]
    else:
        texts = pathlib.Path(path).read_text().splitlines()[:count]
    texts = [text for text in texts if text.strip()]
    tokenizer = AutoTokenizer.from_pretrained(model)
    reference = AutoModel.from_pretrained(model, dtype=torch.float32).eval()
    rows, means, pooled = [], [], []
    with torch.inference_mode():
        for text in texts:
            out = reference(**tokenizer(text, return_tensors="pt", truncation=True))
            rows.append(out.last_hidden_state[0].numpy())
            means.append(rows[-1].mean(0))
            if out.pooler_output is not None:
                pooled.append(out.pooler_output[0].numpy())
    print(len(texts), "texts,", sum(map(len, rows)), "tokens")
    print("hidden  max |difference|", np.abs(ours(tollgate, model, texts, "--pooling", "rows") - np.concatenate(rows)).max())
    mine = ours(tollgate, model, texts)
    print("mean    max |difference|", np.abs(mine - np.stack(means)).max())
    if pooled:
        print("pooled  max |difference|", np.abs(ours(tollgate, model, texts, "--pooling", "cls") - np.stack(pooled)).max())
    small = ours(tollgate, model, texts, "--precision", "int8")
    cosine = (small * mine).sum(1) / np.linalg.norm(small, axis=1) / np.linalg.norm(mine, axis=1)
    print("int8    mean cosine", cosine.mean(), "worst", cosine.min())


if __name__ == "__main__":
    main()
