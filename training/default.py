#!/usr/bin/env python3
"""Trains the default encoders on simulated traffic: the fast profile and the accurate one.

    default.py --tollgate build/release/tollgate --profile fast

Simulates traffic (training, held-out and test by seed), exports what the encoder sees, fits buckets and a WordPiece
vocabulary for memos, trains, saves the folder, has `tollgate model activate` fit calibration and bands on the held-out
traffic, and measures on the test traffic. An event whose outcome never came counts as legitimate, as it does in a bank.
"""
import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import torch
from tokenizers import BertWordPieceTokenizer

import buckets
import encoder
import metrics
from train import Recipe, train

FAST = ["kind", "amt", "rmed", "rmax", "dcards", "dknown", "stiny", "srisk", "pair", "senders", "near", "abroad",
        "npayee", "entry", "age", "memo"]
ACCURATE = FAST[:-1] + ["chan", "ipab", "dday", "nfive", "nhour", "nday", "tiny", "scards", "sweek", "tsum", "tjump",
                        "tpair", "psum", "pfirst", "pfraud", "afraud", "apps", "apdev", "debt", "hour", "memo"]
PROFILES = {
    "fast": dict(fields=FAST, layers=2, width=64, heads=2, rate=2e-3, epochs=4, folder="default"),
    "accurate": dict(fields=ACCURATE, layers=2, width=128, heads=4, rate=1e-3, epochs=3, folder="default-accurate"),
}
TRAIN_SEEDS, HELD_OUT_SEED, TEST_SEED = [101, 102, 103, 104, 105, 106], 201, 301
EVENTS, DAYS = 120_000, 45


def traffic(options, seed: int) -> pathlib.Path:
    path = pathlib.Path(options.work) / f"traffic-{seed}.jsonl.zst"
    if not path.exists():
        subprocess.run([options.tollgate, "simulate", "--events", str(EVENTS), "--days", str(DAYS), "--seed", str(seed),
                        "--out", str(path), "--quiet"], check=True)
    return path


def export(options, seed: int, model: pathlib.Path | None) -> pathlib.Path:
    name = f"numbers-{seed}.csv" if model is None else f"text-{options.profile}-{seed}.tsv"
    path = pathlib.Path(options.work) / name
    what = ["--numbers"] if model is None else ["--model", str(model)]
    if model is not None or not path.exists():
        subprocess.run([options.tollgate, "features", "export", "--policy", options.policy, "--input",
                        str(traffic(options, seed)), "--out", str(path), "--quiet", *what], check=True)
    return path


def read_text(path: pathlib.Path):
    table = pd.read_csv(path, sep="\t", usecols=["label", "text"], dtype={"text": str}, keep_default_na=False,
                        quoting=3)
    return table.text.tolist(), (table.label == "1").to_numpy().astype(np.int64)


def memo_pieces(options, taken: set[str], size: int) -> list[str]:
    """A WordPiece vocabulary of the training traffic's memos."""
    memos = pathlib.Path(options.work) / "memos.txt"
    if not memos.exists():
        with memos.open("w") as out:
            for seed in TRAIN_SEEDS:
                lines = subprocess.run(["zstd", "-dc", str(traffic(options, seed))], capture_output=True, check=True)
                for line in lines.stdout.splitlines():
                    memo = json.loads(line)["event"].get("memo")
                    if memo:
                        out.write(memo.replace("\n", " ") + "\n")
    trainer = BertWordPieceTokenizer(lowercase=True)
    trainer.train([str(memos)], vocab_size=size, min_frequency=5, limit_alphabet=500, show_progress=False)
    pieces = sorted(trainer.get_vocab().items(), key=lambda item: item[1])
    return [piece for piece, _ in pieces if piece not in taken]


def encode(texts: list[str], words: list[str], longest: int) -> np.ndarray:
    tokenizer = BertWordPieceTokenizer(vocab={word: i for i, word in enumerate(words)}, lowercase=True)
    tokenizer.enable_truncation(longest)
    out = np.zeros((len(texts), longest), np.int16)
    for begin in range(0, len(texts), 10_000):
        for row, coded in enumerate(tokenizer.encode_batch(texts[begin : begin + 10_000]), begin):
            out[row, : len(coded.ids)] = coded.ids
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tollgate", default="build/release/tollgate")
    parser.add_argument("--policy", default="policies/default")
    parser.add_argument("--work", default="/tmp", help="folder for traffic, exports and checkpoints")
    parser.add_argument("--out", default="models")
    parser.add_argument("--profile", choices=PROFILES, default="fast")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pieces", type=int, default=2500, help="size of the memo vocabulary")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    profile = PROFILES[options.profile]
    folder = pathlib.Path(options.out) / profile["folder"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "calibration.json").unlink(missing_ok=True)

    numbers = pd.concat([pd.read_csv(export(options, seed, None)) for seed in TRAIN_SEEDS], ignore_index=True)
    labels = (numbers.label == 1).to_numpy().astype(np.int64)
    leaves = {name: 0 if name == "memo" else 24 for name in profile["fields"]}
    edges = buckets.fit(numbers, labels, leaves)
    words = buckets.SPECIALS + buckets.words(edges, [])
    words += memo_pieces(options, set(words), options.pieces)
    (folder / "buckets.json").write_text(json.dumps({"version": 1, "fields": edges}) + "\n")

    longest = 96
    parts = [read_text(export(options, seed, folder)) for seed in TRAIN_SEEDS]
    x = np.concatenate([encode(texts, words, longest) for texts, _ in parts])
    y = np.concatenate([truth for _, truth in parts])
    print(f"{len(y)} events, {int(y.sum())} frauds, {(x != 0).sum(1).mean():.1f} tokens on average", file=sys.stderr)
    recipe = Recipe(layers=profile["layers"], width=profile["width"], heads=profile["heads"], rate=profile["rate"],
                    epochs=profile["epochs"], seed=0)
    began = time.time()
    model = train(x, y, len(words), longest, recipe, pathlib.Path(options.work) / f"default-{options.profile}.checkpoint")
    seconds = time.time() - began
    encoder.save(model, words, edges, folder)

    held_text, held_truth = read_text(export(options, HELD_OUT_SEED, folder))
    test_text, test_truth = read_text(export(options, TEST_SEED, folder))
    held = metrics.all_of(held_truth, encoder.logits(model, encode(held_text, words, longest)))
    scores = encoder.logits(model, encode(test_text, words, longest))
    test = metrics.all_of(test_truth, scores)
    test["f1_at_held_out_threshold"] = metrics.f1_at(test_truth, scores, held["f1_threshold"])
    activated = subprocess.run([options.tollgate, "model", "activate", str(folder), "--policy", options.policy,
                                "--input", str(traffic(options, HELD_OUT_SEED)), "--quiet"], check=False,
                               capture_output=True, text=True)
    print(activated.stdout, activated.stderr, file=sys.stderr)
    about = dict(
        profile=options.profile, recipe=vars(recipe), fields=profile["fields"], words=len(words), positions=longest,
        parameters=sum(p.numel() for p in model.parameters()), train_seconds=round(seconds),
        simulator=dict(events=EVENTS, days=DAYS, train_seeds=TRAIN_SEEDS, held_out_seed=HELD_OUT_SEED,
                       test_seed=TEST_SEED),
        train_rows=len(y), train_frauds=int(y.sum()), mean_tokens=float((x != 0).sum(1).mean()),
        data_sha256=hashlib.sha256(b"".join(traffic(options, s).read_bytes() for s in TRAIN_SEEDS)).hexdigest(),
        held_out=held, test=test)
    (folder / "training.json").write_text(json.dumps(about, indent=1) + "\n")
    print(options.profile, json.dumps(test), f"{seconds:.0f} s")


if __name__ == "__main__":
    main()
