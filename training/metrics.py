"""AUC, average precision, best F1 and card precision@100 as the Fraud-Detection-Handbook defines them; calibration."""
import numpy as np
import pandas as pd


def auc(labels, scores) -> float:
    labels = np.asarray(labels)
    ranks = pd.Series(np.asarray(scores)).rank().to_numpy()
    ones = labels.sum()
    return float((ranks[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(labels) - ones)))


def average_precision(labels, scores) -> float:
    labels, scores = np.asarray(labels), np.asarray(scores)
    order = np.argsort(-scores, kind="mergesort")
    labels, scores = labels[order], scores[order]
    hits, seen = np.cumsum(labels), np.arange(1, len(labels) + 1)
    last = np.r_[np.diff(scores) != 0, True]  # equal scores are one threshold
    hits, seen = hits[last], seen[last]
    return float(np.sum(np.diff(np.r_[0, hits / labels.sum()]) * (hits / seen)))


def best_f1(labels, scores) -> tuple[float, float]:
    labels, scores = np.asarray(labels), np.asarray(scores)
    order = np.argsort(-scores, kind="mergesort")
    hits, seen = np.cumsum(labels[order]), np.arange(1, len(labels) + 1)
    f1 = 2 * hits / (seen + labels.sum())
    best = int(f1.argmax())
    return float(f1[best]), float(scores[order][best])


def f1_at(labels, scores, threshold: float) -> float:
    labels = np.asarray(labels)
    chosen = np.asarray(scores) >= threshold
    hits = int(labels[chosen].sum())
    return 2 * hits / (int(chosen.sum()) + int(labels.sum())) if hits else 0.0


def card_precision(day, account, labels, scores, k: int = 100) -> float:
    """Mean over days of the frauds among the k most suspicious cards; a found card leaves the next days."""
    table = pd.DataFrame({"day": day, "account": account, "label": labels, "score": scores})
    found: list = []
    out = []
    for _, today in table.groupby("day", sort=True):
        today = today[~today.account.isin(found)]
        top = today.groupby("account").max().sort_values("score", ascending=False).head(k).reset_index()
        hits = list(top[top.label == 1].account)
        out.append(len(hits) / k)
        found += hits
    return float(np.mean(out))


def calibration_error(labels, probabilities, bins: int = 15) -> float:
    """Expected calibration error over bins of equal mass."""
    labels, probabilities = np.asarray(labels), np.asarray(probabilities)
    order = np.argsort(probabilities, kind="mergesort")
    parts = np.array_split(order, bins)
    return float(sum(len(p) * abs(probabilities[p].mean() - labels[p].mean()) for p in parts if len(p)) / len(labels))


def all_of(labels, scores, day=None, account=None) -> dict:
    f1, threshold = best_f1(labels, scores)
    out = dict(auc=auc(labels, scores), ap=average_precision(labels, scores), f1=f1, f1_threshold=threshold,
               rows=int(len(labels)), frauds=int(np.sum(labels)))
    if day is not None:
        out["cp100"] = card_precision(day, account, labels, scores)
        out["cp100_ceiling"] = card_precision(day, account, labels, np.asarray(labels, float))
    return out
