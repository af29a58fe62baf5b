#!/usr/bin/env python3
"""Makes tests/golden/wordpiece/: a small vocabulary, texts, and the ids that Hugging Face's tokenizers gives them.

Usage: make_wordpiece.py                                      writes the folder; needs tokenizers; seeded
       make_wordpiece.py --compare TOLLGATE MODEL TEXTS...    compares `TOLLGATE tokenize` on every line of files

vocab.txt   trained on the texts, once: training breaks ties by chance, so a vocabulary that is there is kept.
texts.json  one JSON string a line.
SETTING.ids one line of ids a text; the settings other than uncased and cased take the first OTHERS texts.
SETTING.chars  `first last ids`, hexadecimal: the ids of "a" + c + "b" for every character, run by run, with the
vocabulary [UNK] [CLS] [SEP] a b ##b.
Special tokens are not added tokens here: typed in a text they are text, as in this product.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import WordPiece

FOLDER = pathlib.Path(__file__).parent / "wordpiece"
SEED = 20261201
TEXTS = 5200
OTHERS = 1500
VOCABULARY = 2600
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# name -> lowercase, strip_accents, handle_chinese_chars, clean_text
SETTINGS = {
    "uncased": (True, None, True, True),
    "cased": (False, None, True, True),
    "lower_accents": (True, False, True, True),
    "upper_bare": (False, True, True, True),
    "raw": (True, None, False, False),
}

# Ranges that texts are drawn from: name -> characters.
SCRIPTS = {
    "ascii": [*range(0x20, 0x7F)],
    "latin": [*range(0xC0, 0x250)],
    "additional": [*range(0x1E00, 0x1F00)],
    "greek": [*range(0x370, 0x400), *range(0x1F00, 0x2000)],
    "cyrillic": [*range(0x400, 0x530)],
    "hebrew": [*range(0x591, 0x5F5)],
    "arabic": [*range(0x600, 0x700), *range(0xFB50, 0xFBB2), *range(0xFE70, 0xFEFD)],
    "devanagari": [*range(0x900, 0x980)],
    "bengali": [*range(0x980, 0xA00)],
    "thai": [*range(0xE01, 0xE5C)],
    "tibetan": [*range(0xF00, 0xFDB)],
    "jamo": [*range(0x1100, 0x1200)],
    "hangul": [*range(0xAC00, 0xD7A4, 37)],
    "kana": [*range(0x3041, 0x3100)],
    "ideographs": [*range(0x4E00, 0xA000, 61), *range(0x3400, 0x4DC0, 211), *range(0xF900, 0xFB00, 7)],
    "ideographs 2": [*range(0x20000, 0x2A6E0, 4999), *range(0x2B740, 0x2CEB0, 997), *range(0x2F800, 0x2FA20, 31)],
    "punctuation": [*range(0x2000, 0x2070), *range(0x3000, 0x3040), *range(0x2E00, 0x2E5E)],
    "symbols": [*range(0x2070, 0x2400, 5), *range(0x2500, 0x2800, 11)],
    "marks": [*range(0x300, 0x370), *range(0x1AB0, 0x1ACF), *range(0x1DC0, 0x1E00), *range(0x20D0, 0x20F1)],
    "spacing marks": [0x302E, 0x302F, 0x1D165, 0x1D16D, 0x1B44, 0xA953, 0x16FF0, 0x34F, 0x93C, 0x94D, 0x901, 0x903],
    "full width": [*range(0xFF01, 0xFFEF)],
    "ligatures": [*range(0xFB00, 0xFB18), 0xDF, 0x1E9E, 0x130, 0x131, 0x149, 0x3A3, 0x3C2, 0x1C4, 0x1C5],
    "invisible": [0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x202A, 0x202E, 0x2060, 0x2066, 0x2069, 0xFEFF, 0xAD, 0x61C],
    "controls": [*range(0, 0x21), *range(0x7F, 0xA1), 0x2028, 0x2029, 0xFFFD, 0xFFFC],
    "private": [0xE000, 0xF8FF, 0xF0000, 0x10FFFD],
    "unassigned": [0x378, 0x530, 0xFDD0, 0x1FFFE, 0xE0FFF, 0x10FFFF],
    "emoji": [*range(0x1F300, 0x1F650, 3), 0x200D, 0xFE0F, *range(0x1F3FB, 0x1F400), *range(0x1F1E6, 0x1F200)],
    "late": [*range(0x1E900, 0x1E960), *range(0x11900, 0x11947), *range(0x1E2C0, 0x1E2FA), 0x8E2, 0x1734, 0x1885],
    "mathematical": [*range(0x1D400, 0x1D800, 17)],
}
WRITTEN = [
    "", " ", "\t\n\r", "Hello, world!", "Café naïve Müller", "Cafe\u0301", "ÇA VA?", "İstanbul ısı IŞIK iş",
    "ΣΊΣΥΦΟΣ ΟΔΟΣ σς", "Straße STRASSE GROẞE", "ﬁnancial oﬃce ﬂow", "Ｐａｙ　１２３．４５！", "汇款‧07月15日",
    "お支払いはありがとう", "결제가 거절되었습니다", "مرحبا بالعالم", "הַלְוָאָה", "नमस्ते दुनिया", "สวัสดีชาวโลก", "оплата ёлка Й й",
    "👨‍👩‍👧‍👦 family", "🏳️‍🌈🇰🇷👍🏽", "a\u200bb c\u00adb d\ufeffe", "left\u202eright\u202c", "nul\x00in\x07side", "\ufffd\ufffd x",
    "e\u0301\u0323\u0302o\u0308", "\u0301leading mark", "no\u00a0break\u3000space", "[CLS] ok [SEP] [MASK] [UNK] [PAD]",
    "##ing play##ing ## #", "a.b.c...d", "don't can't I'm", "$1,234.56 -3% #7 @home ~x ^y `z` |w| {v} =u +t <s>",
    "IBAN DE89 3704 0044 0532 0130 00", "card_number=4111-1111-1111-1111;cvv?", "http://x.example/a?b=c&d=%20",
    "k" * 99, "k" * 100, "k" * 101, "ж" * 60, "é" * 100, "é" * 101, "e\u0301" * 100, "e\u0301" * 101, "각" * 33, "각" * 34,
    "汉" * 150, "!" * 150, "a " * 150, "ab" * 49 + "!" + "ab" * 51, "🙂" * 101, "x\u0301" * 60, "İ" * 50, "İ" * 51,
    "\U0001d165\u302e\u1b44x", "a\u302e\u0901\u1b44", "\u0344\u0958\u2126\u212a\u212b", "ǅ ǈ ǋ ǲ", "ꟷꟸ\u0345ᾳ ᾼ",
]  # fmt: skip
SYLLABLES = "pay card ment trans fer ing ed er re de count ac bal ance re fund de cli ne limit a b c y s 12 7".split()


def pipeline(vocabulary: dict[str, int], setting: tuple) -> Tokenizer:
    lowercase, strip, chinese, clean = setting
    out = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    out.normalizer = normalizers.BertNormalizer(
        clean_text=clean, handle_chinese_chars=chinese, strip_accents=strip, lowercase=lowercase
    )
    out.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    out.post_processor = processors.BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    return out


def word(random_: random.Random, names: list[str]) -> str:
    if random_.random() < 0.35:
        letters = "".join(random_.choice(SYLLABLES) for _ in range(random_.randint(1, 4)))
        return random_.choice([letters, letters.upper(), letters.capitalize()])
    script = SCRIPTS[random_.choice(names)]
    return "".join(chr(random_.choice(script)) for _ in range(random_.randint(1, 6)))


def generated(random_: random.Random) -> str:
    names = random_.sample(sorted(SCRIPTS), random_.randint(1, 3))
    words = [word(random_, names) for _ in range(random_.randint(1, 5))]
    if random_.random() < 0.3:  # all scripts side by side in a word
        return "".join(words)
    return random_.choice([" ", " ", "  ", "\n", ", "]).join(words)


def vocabulary_of(texts: list[str]) -> list[str]:
    """The committed one, or one trained on both ways of writing."""
    path = FOLDER / "vocab.txt"
    if path.exists():
        return path.read_text(encoding="utf-8").split("\n")[:-1]
    trained: set[str] = set()
    for setting in (SETTINGS["uncased"], SETTINGS["cased"]):
        base = {name: i for i, name in enumerate(SPECIALS)}
        tokenizer = pipeline(base, setting)
        trainer = trainers.WordPieceTrainer(
            vocab_size=VOCABULARY, limit_alphabet=700, special_tokens=SPECIALS, show_progress=False
        )
        tokenizer.train_from_iterator(texts, trainer)
        kept = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])[:VOCABULARY]
        trained.update(piece for piece, _ in kept)
    letters = {c for letter in "abcdefghijklmnopqrstuvwxyzkж0123456789" for c in (letter, "##" + letter)}
    return SPECIALS + sorted((trained | letters) - set(SPECIALS))


def write_texts() -> None:
    random_ = random.Random(SEED)
    texts = WRITTEN + [generated(random_) for _ in range(TEXTS - len(WRITTEN))]
    pieces = vocabulary_of(texts)
    (FOLDER / "vocab.txt").write_text("".join(piece + "\n" for piece in pieces), encoding="utf-8")
    (FOLDER / "texts.json").write_text(
        "".join(json.dumps(text, ensure_ascii=False) + "\n" for text in texts), encoding="utf-8"
    )
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    for name, setting in SETTINGS.items():
        tokenizer = pipeline(vocabulary, setting)
        some = texts if name in ("uncased", "cased") else texts[:OTHERS]
        lines = [" ".join(map(str, tokenizer.encode(text).ids[1:-1])) for text in some]
        (FOLDER / f"{name}.ids").write_text("\n".join(lines) + "\n")
        unknown = sum(line.split().count(str(vocabulary["[UNK]"])) for line in lines)
        print(f"{name}: {len(lines)} texts, {sum(len(line.split()) for line in lines)} ids, {unknown} unknown")


def write_characters() -> None:
    vocabulary = {piece: i for i, piece in enumerate(["[UNK]", "[CLS]", "[SEP]", "a", "b", "##b"])}
    for name in ("uncased", "cased"):
        tokenizer = pipeline(vocabulary, SETTINGS[name])
        runs: list[list] = []
        for code in range(0x110000):
            if 0xD800 <= code < 0xE000:
                continue
            ids = ",".join(map(str, tokenizer.encode(f"a{chr(code)}b").ids[1:-1]))
            if runs and runs[-1][2] == ids:
                runs[-1][1] = code
            else:
                runs.append([code, code, ids])
        (FOLDER / f"{name}.chars").write_text("".join(f"{a:x} {b:x} {ids}\n" for a, b, ids in runs))


def compare(tollgate: str, model: str, files: list[str]) -> int:
    tokenizer = Tokenizer.from_file(str(pathlib.Path(model) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
    wrong = count = 0
    for file in files:
        lines = [" ".join(line.split()) for line in pathlib.Path(file).read_text(encoding="utf-8").split("\n")]
        lines = [line for line in lines if line]
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as texts:
            texts.write("".join(line + "\n" for line in lines))
            texts.flush()
            command = [tollgate, "tokenize", "--model", model, "--input", texts.name]
            got = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        if len(got) != len(lines):
            print(f"{file}: {len(lines)} lines gave {len(got)}")
            return 1
        for line, ids in zip(lines, got):
            count += 1
            if tokenizer.encode(line).ids != [int(i) for i in ids.split()]:
                wrong += 1
                print(f"differs: {line!r}")
    print(f"{count} lines, {wrong} differ")
    return 1 if wrong or not count else 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compare", nargs="+", metavar="ARG")
    options = parser.parse_args()
    if options.compare:
        if len(options.compare) < 3:
            parser.error("--compare needs TOLLGATE MODEL TEXTS...")
        return compare(options.compare[0], options.compare[1], options.compare[2:])
    FOLDER.mkdir(exist_ok=True)
    write_texts()
    write_characters()
    return 0


if __name__ == "__main__":
    sys.exit(main())
