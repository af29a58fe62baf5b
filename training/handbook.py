#!/usr/bin/env python3
"""Trains the Handbook encoders, one by fold and seed, and measures them by the Handbook's own protocol.

    handbook.py --tollgate build/release/tollgate --input handbook.csv.zst --fold 2018-07-25 --seed 0

A fold is named by the Monday that its training week begins at. Rows 2018-05-01 to the end of that week are trained on
(labels of the last of them are known seven days later, when the test week begins); customers with a fraud 8 to 14 days
before a row are left out of training, customers known as defrauded out of the test. Everything that the model sees
comes out of `tollgate features export`.
"""
import argparse
import hashlib
import json
import pathlib
import subprocess
import time

import numpy as np
import pandas as pd
import torch

import buckets
import encoder
import metrics
from train import Recipe, train

DAY = 86400
START = pd.Timestamp("2018-04-01", tz="UTC")
FOLDS = ["2018-07-25", "2018-08-01", "2018-08-08", "2018-08-15"]
SMALL = ["amt", "rmed", "rold", "large", "dlarge", "tlast", "tfirst", "tsmall", "tlegit", "trisk", "tshare"]
LARGE = SMALL + ["ravg", "z", "med", "lthree", "lshare", "dfirst", "spend", "tthree", "teight", "tcount", "tfraud",
                 "tmonth", "hour"]
HISTORY = ["hage", "hrat", "hlab"]
PROFILES = {
    "accurate": dict(fields={**{f: 28 for f in LARGE}, "hage": 8, "hrat": 8, "hlab": 2}, layers=2, width=128, heads=4,
                     rate=1e-3, epochs=3),
    "fast": dict(fields={f: 28 for f in SMALL}, layers=2, width=64, heads=2, rate=2e-3, epochs=3),
}


def days(stamp: str) -> int:
    return (pd.Timestamp(stamp, tz="UTC") - START).days


def known_customers(table: pd.DataFrame, week: int) -> dict[int, set]:
    """By test day: the customers known as defrauded by then."""
    fraud = table[table.label == 1]
    known = set(fraud[(fraud.day >= week) & (fraud.day < week + 7)].account_id)
    out = {}
    for k in range(7):
        known = known | set(fraud[fraud.day == week + 7 + k - 1].account_id)
        out[week + 14 + k] = known
    return out


def recently_defrauded(table: pd.DataFrame) -> np.ndarray:
    """Rows whose customer has a fraud 8 to 14 days earlier."""
    hit = set()
    for account, day in table.loc[table.label == 1, ["account_id", "day"]].drop_duplicates().itertuples(index=False):
        hit.update((account, day + d) for d in range(8, 15))
    return np.fromiter(((a, d) in hit for a, d in zip(table.account_id, table.day)), bool, len(table))


def split(table: pd.DataFrame, fold: str):
    week = days(fold)
    train_rows = np.flatnonzero((table.day >= 30) & (table.day < week + 7) & ~table.recent)
    known = known_customers(table, week)
    in_test = (table.day >= week + 14) & (table.day < week + 21)
    test_rows = np.array([i for i in np.flatnonzero(in_test)
                          if table.account_id.iat[i] not in known[table.day.iat[i]]])
    return train_rows, test_rows


def read_numbers(path: str) -> pd.DataFrame:
    table = pd.read_csv(path, dtype={"event_id": str, "account_id": str})
    table["day"] = ((table.occurred_at - START.timestamp()) // DAY).astype(int)
    table["recent"] = recently_defrauded(table)
    return table


def export_text(options, model: pathlib.Path, fold: str) -> pd.DataFrame:
    out = pathlib.Path(options.work) / f"text-{options.profile}-{fold}.tsv"
    if not out.exists():
        until = (pd.Timestamp(fold, tz="UTC") + pd.Timedelta(days=21)).strftime("%Y-%m-%dT00:00:00Z")
        subprocess.run([options.tollgate, "features", "export", "--policy", options.policy, "--input", options.input,
                        "--from", "2018-05-01T00:00:00Z", "--until", until, "--model", str(model), "--out", str(out),
                        "--quiet"], check=True)
    return pd.read_csv(out, sep="\t", usecols=["event_id", "text"], dtype=str)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tollgate", default="build/release/tollgate")
    parser.add_argument("--policy", default="policies/handbook")
    parser.add_argument("--input", required=True, help="the Handbook's transactions, .csv or .csv.zst")
    parser.add_argument("--numbers", help="an export with --numbers, made before (from 2018-04-17)")
    parser.add_argument("--work", default="/tmp", help="folder for exports and checkpoints")
    parser.add_argument("--out", default="models/handbook")
    parser.add_argument("--profile", choices=PROFILES, default="accurate")
    parser.add_argument("--fold", choices=FOLDS, default=FOLDS[0])
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    profile = PROFILES[options.profile]
    numbers = options.numbers or str(pathlib.Path(options.work) / "handbook-numbers.csv")
    if not pathlib.Path(numbers).exists():
        subprocess.run([options.tollgate, "features", "export", "--policy", options.policy, "--input", options.input,
                        "--numbers", "--from", "2018-04-17T00:00:00Z", "--until", "2018-09-05T00:00:00Z", "--out",
                        numbers], check=True)
    table = read_numbers(numbers)
    train_rows, test_rows = split(table, options.fold)
    labels = table.label.to_numpy()
    edges = buckets.fit(table.iloc[train_rows], labels[train_rows], profile["fields"])
    words = buckets.SPECIALS + buckets.words(edges, [HISTORY])
    first = pathlib.Path(options.out) / f"{options.profile}-{options.fold}-s{options.seed[0]}"
    first.mkdir(parents=True, exist_ok=True)
    (first / "buckets.json").write_text(json.dumps({"version": 1, "fields": edges}) + "\n")
    texts = export_text(options, first, options.fold).set_index("event_id").text
    ids = {word: i for i, word in enumerate(words)}
    length = len(texts.iloc[0].split()) + 2
    x_train = buckets.encode(texts.loc[table.event_id.iloc[train_rows]].tolist(), ids, length)
    x_test = buckets.encode(texts.loc[table.event_id.iloc[test_rows]].tolist(), ids, length)
    shared = dict(table=table, labels=labels, train_rows=train_rows, test_rows=test_rows, x_train=x_train, x_test=x_test,
                  words=words, edges=edges, ids=ids)
    for seed in options.seed:
        one_model(options, profile, seed, **shared)


def one_model(options, profile, seed, table, labels, train_rows, test_rows, x_train, x_test, words, edges, ids) -> None:
    folder = pathlib.Path(options.out) / f"{options.profile}-{options.fold}-s{seed}"
    recipe = Recipe(layers=profile["layers"], width=profile["width"], heads=profile["heads"], rate=profile["rate"],
                    epochs=profile["epochs"], seed=seed)
    began = time.time()
    model = train(x_train, labels[train_rows], len(words), 64, recipe,
                  pathlib.Path(options.work) / f"{folder.name}.checkpoint")
    seconds = time.time() - began
    encoder.save(model, words, edges, folder)
    scores = encoder.logits(model, x_test)
    test = table.iloc[test_rows]
    result = metrics.all_of(labels[test_rows], scores, test.day.to_numpy(), test.account_id.to_numpy())
    probability = 1 / (1 + np.exp(-scores.astype(np.float64)))
    result["ece"] = metrics.calibration_error(labels[test_rows], probability)
    unknown = float((x_test == ids["[UNK]"]).mean())
    week = pd.Timestamp(options.fold, tz="UTC")
    about = dict(
        profile=options.profile, fold=options.fold, seed=seed, recipe=vars(recipe),
        fields=list(profile["fields"]), words=len(words), tokens=x_train.shape[1],
        parameters=sum(p.numel() for p in model.parameters()), train_seconds=round(seconds),
        train_span=["2018-05-01T00:00:00Z", (week + pd.Timedelta(days=7)).strftime("%Y-%m-%dT00:00:00Z")],
        test_span=[(week + pd.Timedelta(days=14)).strftime("%Y-%m-%dT00:00:00Z"),
                   (week + pd.Timedelta(days=21)).strftime("%Y-%m-%dT00:00:00Z")],
        train_rows=len(train_rows), train_frauds=int(labels[train_rows].sum()), unknown_words=unknown,
        data_sha256=hashlib.sha256(pathlib.Path(options.input).read_bytes()).hexdigest(), test=result)
    (folder / "training.json").write_text(json.dumps(about, indent=1) + "\n")
    print(folder.name, json.dumps(result), f"{seconds:.0f} s")


if __name__ == "__main__":
    main()
