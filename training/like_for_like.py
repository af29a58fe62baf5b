#!/usr/bin/env python3
"""The Handbook's own comparison, like for like: its 15 published features, one week of training.

    like_for_like.py --input handbook.csv.zst [--windows windows_public.csv.zst] [--json out.json]

Same folds and same test rows as handbook.py. Gradient boosting is LightGBM with its defaults. The encoder is the accurate profile's shape with one word per published
feature; `long` adds the row that differs in the training span alone (2018-05-01 to the training week's end). Words are
made here and not by `tollgate features export`, because the published numbers are not the engine's windows.
"""
import argparse
import json

import lightgbm
import numpy as np
import pandas as pd
import torch

import buckets
import encoder
import handbook
import metrics
from train import Recipe, train


def counts(table: pd.DataFrame, key: str, seconds: int, value: np.ndarray | None = None) -> np.ndarray:
    """By row: how many rows (or how much `value`) of the same key in the window (t - seconds, t]."""
    out = np.empty(len(table))
    time = table.time.to_numpy()
    for rows in table.groupby(key, sort=False).indices.values():
        rows = rows[np.argsort(time[rows], kind="stable")]
        at = time[rows]
        first = np.searchsorted(at, at - seconds, side="right")
        last = np.arange(1, len(at) + 1)  # of rows at the same second, those that come after do not count
        total = np.r_[0.0, np.cumsum(value[rows] if value is not None else np.ones(len(rows)))]
        out[rows] = total[last] - total[first]
    return out


def published_features(table: pd.DataFrame) -> pd.DataFrame:
    """The Handbook's 15 features, chapter "Baseline feature transformation"; risks know labels after seven days."""
    stamp = pd.to_datetime(table.TX_DATETIME)
    table = table.assign(time=(stamp - pd.Timestamp("2018-04-01")).dt.total_seconds().astype(np.int64))
    out = {"TX_AMOUNT": table.TX_AMOUNT, "TX_DURING_WEEKEND": (stamp.dt.day_of_week >= 5).astype(int),
           "TX_DURING_NIGHT": (stamp.dt.hour <= 6).astype(int)}
    amount, fraud = table.TX_AMOUNT.to_numpy(), table.TX_FRAUD.to_numpy()
    late, late_fraud = counts(table, "TERMINAL_ID", 7 * handbook.DAY), counts(table, "TERMINAL_ID", 7 * handbook.DAY,
                                                                             fraud)
    for days in (1, 7, 30):
        number = counts(table, "CUSTOMER_ID", days * handbook.DAY)
        out[f"CUSTOMER_ID_NB_TX_{days}DAY_WINDOW"] = number
        out[f"CUSTOMER_ID_AVG_AMOUNT_{days}DAY_WINDOW"] = (
            counts(table, "CUSTOMER_ID", days * handbook.DAY, amount) / number)
        seconds = (7 + days) * handbook.DAY
        known = counts(table, "TERMINAL_ID", seconds) - late
        out[f"TERMINAL_ID_NB_TX_{days}DAY_WINDOW"] = known
        risky = counts(table, "TERMINAL_ID", seconds, fraud) - late_fraud
        out[f"TERMINAL_ID_RISK_{days}DAY_WINDOW"] = np.divide(risky, known, out=np.zeros(len(table)), where=known > 0)
    return pd.DataFrame(out)


def check(table: pd.DataFrame, features: pd.DataFrame, path: str) -> None:
    """Holds the features against the published ones, which cover three weeks."""
    given = pd.read_csv(path).set_index("TRANSACTION_ID")
    mine = features.set_index(table.TRANSACTION_ID).loc[given.index]
    for name in given.columns:
        apart = np.abs(given[name].to_numpy(float) - mine[name].to_numpy(float)).max()
        assert apart < 1e-6, f"{name}: up to {apart} apart from the published feature"
    print(f"{len(given)} published rows x {len(given.columns)} features: equal")


def read(options) -> tuple[pd.DataFrame, list[str]]:
    table = pd.read_csv(options.input).sort_values("TRANSACTION_ID").reset_index(drop=True)
    features = published_features(table)
    if options.windows:
        check(table, features, options.windows)
    names = [f"f{i:02d}x" for i in range(features.shape[1])]
    table = pd.concat([table, features.set_axis(names, axis=1)], axis=1)
    table = table.rename(columns={"CUSTOMER_ID": "account_id", "TX_FRAUD": "label"})
    table["day"] = (pd.to_datetime(table.TX_DATETIME, utc=True) - handbook.START).dt.days
    table["recent"] = False  # the published protocol keeps every training row
    return table[table.day >= 30].reset_index(drop=True), names


def rows_of(table: pd.DataFrame, fold: str, long: bool) -> tuple[np.ndarray, np.ndarray]:
    train_rows, test_rows = handbook.split(table, fold)
    if not long:
        train_rows = train_rows[table.day.to_numpy()[train_rows] >= handbook.days(fold)]
    return train_rows, test_rows


def encode(table, rows, edges, ids) -> np.ndarray:
    out = np.empty((len(rows), len(edges) + 2), np.int16)
    out[:, 0], out[:, -1] = ids["[CLS]"], ids["[SEP]"]
    for column, (name, cuts) in enumerate(edges.items(), 1):
        values = table[name].to_numpy(np.float64)[rows]
        bucket = np.searchsorted(cuts, values, side="left")
        lookup = np.array([ids[f"{name}{i}"] for i in range(len(cuts) + 1)])
        out[:, column] = np.where(np.isnan(values), ids[f"{name}na"], lookup[bucket])
    return out


def by_encoder(table, labels, features, train_rows, test_rows, options, epochs) -> np.ndarray:
    few = table.iloc[train_rows]
    edges = buckets.fit(few, labels[train_rows], {name: 28 for name in features})
    words = buckets.SPECIALS + buckets.words(edges, [])
    ids = {word: i for i, word in enumerate(words)}
    recipe = Recipe(layers=2, width=128, heads=4, rate=1e-3, epochs=epochs, seed=options.seed)
    model = train(encode(table, train_rows, edges, ids), labels[train_rows], len(words), 64, recipe)
    return encoder.logits(model, encode(table, test_rows, edges, ids))


def by_boosting(table, labels, features, train_rows, test_rows, options, _) -> np.ndarray:
    model = lightgbm.LGBMClassifier(random_state=options.seed, n_jobs=options.threads, verbose=-1)
    model.fit(table.iloc[train_rows][features], labels[train_rows])
    return model.predict_proba(table.iloc[test_rows][features])[:, 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", required=True, help="the Handbook's transactions")
    parser.add_argument("--windows", help="its published window features, to hold ours against")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    table, features = read(options)
    labels = table.label.to_numpy()
    out = {}
    for span, long, epochs in (("7 days", False, 20), ("long", True, 3)):
        for name, score in (("boosting", by_boosting), ("encoder", by_encoder)):
            weeks = {}
            for fold in handbook.FOLDS:
                train_rows, test_rows = rows_of(table, fold, long)
                scores = score(table, labels, features, train_rows, test_rows, options, epochs)
                test = table.iloc[test_rows]
                weeks[fold] = metrics.all_of(labels[test_rows], scores, test.day.to_numpy(),
                                             test.account_id.to_numpy())
            mean = {k: float(np.mean([week[k] for week in weeks.values()])) for k in ("auc", "ap", "cp100", "f1")}
            out[f"{name}, {span}"] = {"weeks": weeks, "mean": mean}
            print(f"{name}, {len(features)} features, {span}:", json.dumps(mean), flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(out, file, indent=1)


if __name__ == "__main__":
    main()
