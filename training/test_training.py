"""Seconds, on made-up numbers: buckets, words, a model that learns, and its folder against transformers."""
import json
import math
import pathlib
import sys

import numpy as np
import pandas as pd
import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import buckets  # noqa: E402
import encoder  # noqa: E402
import metrics  # noqa: E402
from train import Recipe, train  # noqa: E402


def test_a_value_falls_into_the_bucket_of_the_edges_below_it():
    values = np.r_[np.zeros(500), np.ones(500) * 5.0]
    edges = buckets.fit_edges(values, (values > 2).astype(int), leaves=4)
    assert edges == [2.5]
    assert buckets.words({"amt": edges, "memo": []}, []) == ["amt0", "amt1", "amtna"]


def test_joint_words_are_every_combination():
    words = buckets.words({"a": [1.0], "b": [1.0], "c": [2.0]}, [["a", "b"]])
    assert words[:3] == ["c0", "c1", "cna"]
    assert len(words) == 3 + 9 and "a0bna" in words


def test_metrics_by_hand():
    labels, scores = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    assert metrics.auc(labels, scores) == 0.75
    assert math.isclose(metrics.average_precision(labels, scores), 0.5 + 0.5 * 2 / 3)
    assert math.isclose(metrics.best_f1(labels, scores)[0], 0.8)
    day, account = [0, 0, 1, 1], ["a", "b", "a", "c"]
    assert math.isclose(metrics.card_precision(day, account, labels, scores, k=1), 0.5)


def made_up(rows=6000):
    rng = np.random.RandomState(1)
    x = rng.normal(size=rows)
    labels = (rng.rand(rows) < 1 / (1 + np.exp(-(3 * x - 4)))).astype(int)
    return pd.DataFrame({"x": x, "noise": rng.normal(size=rows)}), labels


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    table, labels = made_up()
    edges = buckets.fit(table, labels, {"x": 8, "noise": 4})
    words = buckets.SPECIALS + buckets.words(edges, [])
    index = {word: i for i, word in enumerate(words)}
    texts = [" ".join(f"{n}{np.searchsorted(edges[n], v)}" for n, v in zip(("x", "noise"), row)) for row in table.values]
    ids = buckets.encode(texts, index, 4)
    folder = tmp_path_factory.mktemp("model")
    recipe = Recipe(layers=2, width=16, heads=2, epochs=4, legit_share=0.5, rate=5e-3, batch=128)
    model = train(ids, labels, len(words), 8, recipe, folder / "checkpoint")
    encoder.save(model, words, edges, folder / "model")
    return model, ids, labels, folder / "model"


def test_it_learns_and_is_near_the_prior(trained):
    model, ids, labels, _ = trained
    scores = encoder.logits(model, ids)
    assert metrics.auc(labels, scores) > 0.85
    assert abs((1 / (1 + np.exp(-scores))).mean() - labels.mean()) < 0.05


def test_the_folder_gives_the_same_logits_in_transformers(trained):
    transformers = pytest.importorskip("transformers")
    model, ids, _, folder = trained
    reference = transformers.BertForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        theirs = reference(torch.from_numpy(ids[:64].astype(np.int64))).logits[:, 0].numpy()
    assert np.abs(theirs - encoder.logits(model, ids[:64])).max() < 1e-5
    assert json.loads((folder / "buckets.json").read_text())["version"] == 1


def test_training_goes_on_from_a_checkpoint(tmp_path):
    table, labels = made_up(2000)
    ids = np.c_[np.full(len(labels), 2), 5 + (table.x > 0).astype(int), np.full(len(labels), 3)].astype(np.int16)
    recipe = Recipe(layers=1, width=8, heads=1, epochs=2, legit_share=0.5, batch=64)
    whole = train(ids, labels, 8, 4, recipe)
    part = tmp_path / "checkpoint"
    train(ids, labels, 8, 4, recipe, part)
    again = train(ids, labels, 8, 4, recipe, part)  # nothing left to do: the averaged weights of the run
    assert np.allclose(encoder.logits(whole, ids[:8]), encoder.logits(again, ids[:8]), atol=1e-5)
