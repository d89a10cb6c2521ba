"""Two sites side by side: which one serves the same pages in less time.

As in Niagara's own duels: both are freshly started on identical data, take the same requests in turn, the order tossed by a coin, the idle one frozen; after
some couples both are started again. A duel is one figure. The interval is that of the signed-rank test (Hodges and Lehmann, 1963), exact.
"""
import math
import random
import statistics
from dataclasses import dataclass
from typing import Callable

from browser import Request, browse
from database import Database
from wiki import Wiki


@dataclass
class Stack:
    """A database and the site on it, and how both are made fresh."""

    database: Database
    site: Wiki
    start: Callable[[], None]

    def stop(self) -> None:
        self.site.stop()
        self.database.stop()

    def freeze(self) -> None:
        self.site.freeze()
        self.database.freeze()

    def thaw(self) -> None:
        self.database.thaw()
        self.site.thaw()


def duel(stacks: list[Stack], batches: list[list[Request]], warm_up: list[Request], coin: random.Random) -> tuple[float, list[float]]:
    """One duel: log of the ratio of speeds (second over first), and the pages per second of both."""
    try:
        for stack in stacks:
            stack.start()
        for stack in stacks:
            browse(stack.site.port, warm_up)
            stack.freeze()
        scores, seconds = [], [0.0, 0.0]
        for batch in batches:
            taken = [0.0, 0.0]
            for side in coin.sample([0, 1], 2):
                stacks[side].thaw()
                taken[side], _ = browse(stacks[side].site.port, batch)
                stacks[side].freeze()
                seconds[side] += taken[side]
            scores.append(math.log(taken[0] / taken[1]))
        pages = sum(len(batch) for batch in batches)
        return statistics.fmean(scores), [pages / spent for spent in seconds]
    finally:
        for stack in stacks:
            stack.stop()


def estimate(scores: list[float], alpha: float = 0.05) -> tuple[float, float | None, float | None]:
    """Ratio with its exact interval at 1 - alpha, from the logs of duels: the Walsh averages that the signed-rank test does not reject.

    Fewer duels than could reject at `alpha` (6 at 0.05) have no interval: its ends are None."""
    n = len(scores)
    walsh = sorted((scores[i] + scores[j]) / 2 for i in range(n) for j in range(i, n))
    # Of the 2^n ways that signs may fall, how many have a rank sum of so much.
    sums = [1] + [0] * (n * (n + 1) // 2)
    for rank in range(1, n + 1):
        for total in range(len(sums) - 1, rank - 1, -1):
            sums[total] += sums[total - rank]
    below, cut = 0, -1
    for total, ways in enumerate(sums):
        below += ways
        if below / 2**n > alpha / 2:
            break
        cut = total
    middle = math.exp(statistics.median(walsh))
    if cut < 0:
        return middle, None, None
    return middle, math.exp(walsh[cut]), math.exp(walsh[-1 - cut])


def summary(scores: list[float], speeds: list[list[float]]) -> dict:
    """What these duels say together."""
    ratio, low, high = estimate(scores)
    return {"duels": len(scores), "ratio": ratio, "low": low, "high": high,
            "pages_per_second": [statistics.median(pages[side] for pages in speeds) for side in (0, 1)],
            "ratios": [math.exp(score) for score in scores]}


def run(stacks: list[Stack], draw: Callable[[int, int], list[Request]], count: int, couples: int, batch: int, seed: int, tell: Callable[[str], None],
        keep: Callable[[dict], None]) -> dict:
    """`count` duels; every couple has requests of its own, the same for both sides: `draw(how many, seed)`. `keep` gets what all so far say, after each."""
    coin = random.Random(seed)
    scores, speeds = [], []
    for number in range(count):
        begin = seed * 1000 + number * (couples + 1)
        batches = [draw(batch, begin + couple + 1) for couple in range(couples)]
        score, pages = duel(stacks, batches, draw(2 * batch, begin), coin)
        scores.append(score)
        speeds.append(pages)
        tell(f"duel {number + 1} of {count}: {pages[0]:.1f} pages/s before, {pages[1]:.1f} after, × {math.exp(score):.3f}")
        keep(summary(scores, speeds))
    return summary(scores, speeds)
