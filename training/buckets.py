"""Bucket edges by one decision tree a field, and the vocabulary that they make."""
import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def fit_edges(values: np.ndarray, labels: np.ndarray, leaves: int, min_leaf: int = 40) -> list[float]:
    """Edges of one field: a value's bucket is the number of edges below it (decision/buckets.h)."""
    known = ~np.isnan(values)
    x, y = values[known], labels[known]
    if len(x) < 2 * min_leaf or len(np.unique(x)) < 2:
        return [float(np.median(x))] if len(x) else [0.0]
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, min_samples_leaf=min_leaf, random_state=0)
    tree.fit(x[:, None], y, sample_weight=np.where(y == 1, 1.0, 0.1))
    edges = np.unique(tree.tree_.threshold[tree.tree_.feature == 0])
    if len(edges) == 0:
        edges = np.unique([float(np.median(x))])
    return [float(f"{edge:.9g}") for edge in edges]


def fit(table: pd.DataFrame, labels: np.ndarray, fields: dict[str, int], sample: int = 200_000, seed: int = 0):
    """Edges by field. `fields` says how many leaves each may have; repeated columns (name.1 …) share edges."""
    rng = np.random.RandomState(seed)
    frauds, legit = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    pick = np.r_[frauds, rng.choice(legit, min(len(legit), sample), replace=False)]
    edges = {}
    for name, leaves in fields.items():
        columns = [c for c in table.columns if c == name or c.startswith(name + ".")]
        values = table[columns].to_numpy(np.float64)[pick]
        y = np.repeat(labels[pick], values.shape[1])
        if leaves == 0:  # a switch
            edges[name] = []
        elif len(columns) > 1:  # of past payments: quantiles, their label says nothing of this one's fraud
            flat = values[~np.isnan(values)]
            cuts = np.unique(np.quantile(flat, np.linspace(0, 1, leaves + 1)[1:-1])) if len(flat) else []
            edges[name] = [float(f"{c:.9g}") for c in np.unique(cuts)] or [0.5]
        else:
            edges[name] = fit_edges(values[:, 0], labels[pick], leaves)
    return edges


def words(edges: dict[str, list[float]], joint: list[list[str]]) -> list[str]:
    """Every word that these buckets can make; `joint` fields are written together as one word."""
    together = {name for names in joint for name in names}
    out = []
    for name, cuts in edges.items():
        if name not in together and cuts:
            out += [f"{name}{i}" for i in range(len(cuts) + 1)] + [f"{name}na"]
    for names in joint:
        if not all(name in edges for name in names):
            continue
        parts = [[f"{n}{i}" for i in range(len(edges[n]) + 1)] + [f"{n}na"] for n in names]
        level = [""]
        for part in parts:
            level = [a + b for a in level for b in part]
        out += level
    return out


def encode(texts, vocabulary: dict[str, int], length: int) -> np.ndarray:
    """[CLS] words [SEP] as ids, padded with 0. For texts of whole words only; memos go through a tokenizer."""
    out = np.zeros((len(texts), length), np.int16)
    unknown = vocabulary["[UNK]"]
    for row, text in enumerate(texts):
        ids = [vocabulary.get(word, unknown) for word in text.split()][: length - 2]
        out[row, 0] = vocabulary["[CLS]"]
        out[row, 1 : len(ids) + 1] = ids
        out[row, len(ids) + 1] = vocabulary["[SEP]"]
    return out
