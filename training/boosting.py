#!/usr/bin/env python3
"""Gradient boosting on the numbers that the encoder's buckets are fitted on: same rows, same splits.

    boosting.py --numbers handbook-numbers.csv [--json out.json]
"""
import argparse
import json
import pathlib

import lightgbm
import numpy as np

import handbook
import metrics


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--numbers", required=True, help="an export with --numbers, from 2018-04-17")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    table = handbook.read_numbers(options.numbers)
    labels = table.label.to_numpy()
    columns = [c for c in table.columns
               if c not in ("event_id", "occurred_at", "account_id", "label", "day", "recent")]
    out = {}
    for fold in handbook.FOLDS:
        train_rows, test_rows = handbook.split(table, fold)
        model = lightgbm.LGBMClassifier(n_estimators=300, learning_rate=0.05, num_leaves=31, min_child_samples=40,
                                        subsample=0.8, subsample_freq=1, colsample_bytree=0.8, random_state=0,
                                        n_jobs=options.threads, verbose=-1)
        model.fit(table.iloc[train_rows][columns], labels[train_rows])
        scores = model.predict_proba(table.iloc[test_rows][columns])[:, 1]
        test = table.iloc[test_rows]
        out[fold] = metrics.all_of(labels[test_rows], scores, test.day.to_numpy(), test.account_id.to_numpy())
        print(fold, json.dumps(out[fold]), flush=True)
    mean = {k: float(np.mean([week[k] for week in out.values()])) for k in ("auc", "ap", "cp100", "f1")}
    print("mean", json.dumps(mean))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"weeks": out, "mean": mean}, indent=1) + "\n")


if __name__ == "__main__":
    main()
