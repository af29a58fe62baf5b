#!/usr/bin/env python3
"""Makes tests/golden/windows_oracle/: a small traffic file and the window values that pandas computes for it.

Usage: make_windows_oracle.py [FOLDER]      needs pandas 2 or newer; the same pandas writes the same bytes
The two files have the columns of the Fraud-Detection-Handbook's transactions and of its published window
features. `tollgate windows verify --input FOLDER/traffic.csv --oracle FOLDER/windows.csv` must find no
mismatch. The definitions are the Handbook's: customer windows (t-w, t] with the current event, terminal
windows (t-7d-w, t-7d], risk = share of fraud and 0 when empty, ties in time by id.

The traffic is made to hit edges: same-second pairs of a customer, events exactly one window apart, exactly
at the terminal's delay, customers and terminals with a single event, zero amounts, amounts that end in half a
cent or in a binary float's digits, ids that are not in order of time within a second.
"""
import datetime
import pathlib
import random
import sys

import pandas as pd

SEED = 20260731
DAYS = 50
CUSTOMERS = 40
TERMINALS = 25
EVENTS = 3_600
ORACLE_FROM_DAY = 30  # windows of 30 days are full from here on
WINDOW_DAYS = (1, 7, 30)
DELAY_DAYS = 7
START = datetime.datetime(2018, 4, 1)


def make_traffic() -> pd.DataFrame:
    rng = random.Random(SEED)
    rows = []
    for _ in range(EVENTS):
        second = rng.randrange(DAYS * 86_400)
        customer = min(int(rng.expovariate(1 / 12)), CUSTOMERS - 1)
        terminal = min(int(rng.expovariate(1 / 8)), TERMINALS - 1)
        rows.append([second, customer, terminal, rng.randrange(100, 20_000) / 100, int(rng.random() < 0.08)])
    edges = []
    for second, customer, terminal, amount, fraud in rng.sample(rows, 120):
        edges.append([second, customer, terminal, amount + 1, 0])  # the same second, the same keys
        for days in (*WINDOW_DAYS, DELAY_DAYS, *(DELAY_DAYS + w for w in WINDOW_DAYS)):
            later = second + days * 86_400 + rng.choice((-1, 0, 0, 1))
            if later < DAYS * 86_400:
                edges.append([later, customer, terminal, rng.choice((0.0, amount)), fraud])
    rows += edges
    rows += [[(DAYS - 5) * 86_400 + i, CUSTOMERS + i, TERMINALS + i, 10.5 + i, i % 2] for i in range(6)]
    rows.sort(key=lambda row: row[0])
    frame = pd.DataFrame(rows, columns=["second", "CUSTOMER_ID", "TERMINAL_ID", "TX_AMOUNT", "TX_FRAUD"])
    frame.insert(0, "TRANSACTION_ID", range(len(frame)))
    return frame


def windows(frame: pd.DataFrame) -> pd.DataFrame:
    """The 12 columns, computed on integer seconds and whole cents so that no float order matters."""
    out = frame[["TRANSACTION_ID"]].copy()
    cents = (frame["TX_AMOUNT"] * 100).round().astype("int64")
    index = pd.DatetimeIndex(START + pd.to_timedelta(frame["second"], unit="s"))
    base = pd.DataFrame({"one": 1, "cents": cents.values, "fraud": frame["TX_FRAUD"].values,
                         "CUSTOMER_ID": frame["CUSTOMER_ID"].values, "TERMINAL_ID": frame["TERMINAL_ID"].values,
                         "id": frame["TRANSACTION_ID"].values}, index=index)

    def rolled(key: str, column: str, days: int) -> pd.Series:
        # pandas' time windows are (t-w, t]; of equal times the earlier rows alone are inside: ties by id.
        sums = base.groupby(key)[["id", column]].apply(
            lambda g: pd.Series(g[column].rolling(f"{days}D").sum().round().values, index=g["id"]))
        return sums.droplevel(0).sort_index().astype("int64")

    for days in WINDOW_DAYS:
        count = rolled("CUSTOMER_ID", "one", days)
        out[f"CUSTOMER_ID_NB_TX_{days}DAY_WINDOW"] = count.values
        out[f"CUSTOMER_ID_AVG_AMOUNT_{days}DAY_WINDOW"] = (rolled("CUSTOMER_ID", "cents", days) / count / 100).values
    delayed = terminal_delayed(base)
    for days in WINDOW_DAYS:
        count = delayed[days, "one"]
        out[f"TERMINAL_ID_NB_TX_{days}DAY_WINDOW"] = count.values
        out[f"TERMINAL_ID_RISK_{days}DAY_WINDOW"] = (delayed[days, "fraud"] / count.where(count > 0, 1)).values
    return out


def terminal_delayed(base: pd.DataFrame) -> dict[tuple[int, str], pd.Series]:
    """Sums over (t-7d-w, t-7d]: cumulative sums at both edges, both edges included on the left side of the cut."""
    parts: dict[tuple[int, str], list[pd.Series]] = {(w, c): [] for w in WINDOW_DAYS for c in ("one", "fraud")}
    for _, group in base.groupby("TERMINAL_ID"):
        times = group.index
        for column in ("one", "fraud"):
            running = [0, *group[column].cumsum().tolist()]
            for days in WINDOW_DAYS:
                until = times.searchsorted(times - pd.Timedelta(days=DELAY_DAYS), side="right")
                since = times.searchsorted(times - pd.Timedelta(days=DELAY_DAYS + days), side="right")
                sums = [running[b] - running[a] for a, b in zip(since, until)]
                parts[days, column].append(pd.Series(sums, index=group["id"]))
    return {key: pd.concat(series).sort_index() for key, series in parts.items()}


def amount_text(rng: random.Random, amount: float) -> str:
    text = f"{amount:.2f}"
    # As the Handbook prints some: the binary float behind the cents.
    return text[:-1] + str(int(text[-1]) - 1) + "9" * 13 if rng.random() < 0.02 and text[-1] != "0" else text


def main() -> int:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "windows_oracle")
    folder.mkdir(parents=True, exist_ok=True)
    frame = make_traffic()
    values = windows(frame)
    rng = random.Random(SEED + 1)
    lines = []
    for row in frame.itertuples(index=False):
        at = START + datetime.timedelta(seconds=row.second)
        lines.append(f"{row.TRANSACTION_ID},{at:%Y-%m-%d %H:%M:%S},{row.CUSTOMER_ID},{row.TERMINAL_ID},"
                     f"{amount_text(rng, row.TX_AMOUNT)},{row.TX_FRAUD},0")
    # Within a second the Handbook's file is not in order of ids either: every 50 lines are turned around.
    shuffled = [line for at in range(0, len(lines), 50) for line in reversed(lines[at:at + 50])]
    header = "TRANSACTION_ID,TX_DATETIME,CUSTOMER_ID,TERMINAL_ID,TX_AMOUNT,TX_FRAUD,TX_FRAUD_SCENARIO"
    (folder / "traffic.csv").write_text("\n".join([header, *shuffled]) + "\n")
    wanted = values[(frame["second"] >= ORACLE_FROM_DAY * 86_400).values]
    wanted.to_csv(folder / "windows.csv", index=False)
    print(f"{len(frame)} events, {len(wanted)} rows of 12 windows, pandas {pd.__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
