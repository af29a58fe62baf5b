#!/usr/bin/env python3
"""Makes tests/golden/encoder/: small random encoders in Hugging Face folders and what transformers computes with them.

Usage: make_encoder.py [FOLDER]      needs torch, transformers and safetensors; seeded, fp32, one thread
Each folder holds config.json, model.safetensors, vocab.txt and expected.safetensors: ids (the sequences one
after the other), starts, hidden (tokens x hidden), pooled and, for classifiers, logits.
"""
import pathlib
import sys

import safetensors.torch
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    DistilBertConfig,
    DistilBertForSequenceClassification,
)

LENGTHS = [1, 5, 17, 2, 33, 16]
VOCAB = 120


def spread(model: torch.nn.Module) -> None:
    """Random weights far from the usual 0.02, so that an error shows; gammas near 1."""
    for name, parameter in model.named_parameters():
        if "LayerNorm.weight" in name or "layer_norm.weight" in name:
            parameter.data.normal_(1.0, 0.2)
        elif parameter.dim() > 1 and "embeddings" not in name:
            parameter.data.normal_(0.0, 1.2 / parameter.shape[1] ** 0.5)
        else:
            parameter.data.normal_(0.0, 0.5)


def expected(model, kind: str) -> dict[str, torch.Tensor]:
    inner = getattr(model, "bert", None) or getattr(model, "distilbert", None) or model
    sequences = [torch.randint(0, VOCAB, (1, n)) for n in LENGTHS]
    hidden, pooled, logits = [], [], []
    for ids in sequences:
        out = inner(input_ids=ids)
        hidden.append(out.last_hidden_state[0])
        first = out.last_hidden_state[:, 0]
        if kind == "distilbert":
            pooled.append(torch.relu(model.pre_classifier(first))[0])
        else:
            pooled.append(out.pooler_output[0])
        if kind != "embedder":
            logits.append(model(input_ids=ids).logits[0])
    starts = [0]
    for n in LENGTHS:
        starts.append(starts[-1] + n)
    result = {
        "ids": torch.cat([s[0] for s in sequences]).to(torch.int32),
        "starts": torch.tensor(starts, dtype=torch.int32),
        "hidden": torch.cat(hidden),
        "pooled": torch.stack(pooled),
    }
    if logits:
        result["logits"] = torch.stack(logits)
    return result


def bert(**more) -> BertConfig:
    shape = dict(
        vocab_size=VOCAB, hidden_size=40, num_hidden_layers=2, num_attention_heads=4, intermediate_size=72,
        max_position_embeddings=48,
    )
    return BertConfig(**{**shape, **more})


def models():
    yield "bert_one_label", "bert", BertForSequenceClassification(bert(num_labels=1))
    yield "bert_three_labels", "bert", BertForSequenceClassification(
        bert(num_labels=3, hidden_act="gelu_new", hidden_size=64, num_attention_heads=2, layer_norm_eps=1e-5)
    )
    yield "distilbert_two_labels", "distilbert", DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=VOCAB, dim=48, n_layers=2, n_heads=4, hidden_dim=96, max_position_embeddings=48, num_labels=2
        )
    )
    yield "bert_embedder", "embedder", BertModel(bert(num_hidden_layers=3, hidden_size=24, num_attention_heads=2))


def main() -> None:
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "encoder")
    torch.set_num_threads(1)
    torch.manual_seed(20261201)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"w{i}" for i in range(VOCAB - 5)]
    for name, kind, model in models():
        model.eval()
        with torch.no_grad():
            spread(model)
            folder = out / name
            model.save_pretrained(folder, safe_serialization=True)
            (folder / "vocab.txt").write_text("\n".join(words) + "\n")
            tensors = {k: v.contiguous() for k, v in expected(model, kind).items()}
            safetensors.torch.save_file(tensors, folder / "expected.safetensors")
        print(name, {k: tuple(v.shape) for k, v in tensors.items()})


if __name__ == "__main__":
    main()
