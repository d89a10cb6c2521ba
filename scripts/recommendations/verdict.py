"""What the tunings and their blind judging say: per case, in all, and as the record docs/results/recommendations.json."""
import json
import math
from pathlib import Path

from variants import fullest, rungs

HERE = Path(__file__).parent
IDLE = sorted(path.stem for path in (HERE / "idle-levers").glob("*.toml"))
NOT_LESS = 0.97
APART = "total-apart-from-parts"
MOST_CHANGES = 2
BLOG = "wordpress"


def estimate(comparison: dict | None) -> dict | None:
    """The figure that decides, with its interval; `None` without one."""
    if comparison is None:
        return None
    judgement = comparison.get("on_goal") or comparison["throughput"]
    # Too few duels have an interval of less confidence, or none.
    return judgement["estimate"] if has_interval(judgement.get("estimate")) and judgement.get("confidence") is None else None


def has_interval(figure: dict | None) -> bool:
    return figure is not None and bool(figure.get("low")) and bool(figure.get("high"))


def meet(one: dict, other: dict) -> bool:
    return one["low"] <= other["high"] and other["low"] <= one["high"]


def within(one: dict, other: dict) -> bool:
    """Whether the difference of both is within the interval of a difference: more strict than that they meet."""
    half = [math.log(each["high"] / each["low"]) / 2 for each in (one, other)]
    return abs(math.log(one["ratio"] / other["ratio"])) <= math.hypot(*half)


def product(parts: list[dict]) -> dict:
    """Of independent figures."""
    middle = sum(math.log(part["ratio"]) for part in parts)
    below = math.hypot(*(math.log(part["ratio"] / part["low"]) for part in parts))
    above = math.hypot(*(math.log(part["high"] / part["ratio"]) for part in parts))
    return {"ratio": math.exp(middle), "low": math.exp(middle - below), "high": math.exp(middle + above)}


def worse(percentile: dict | None) -> bool:
    return has_interval(percentile) and percentile["low"] > 1


def judge(case: dict, tuned: dict, judged: dict | None, full: dict | None) -> dict:
    """What is to be seen of one case. A value is `None` where it could not be seen or does not apply."""
    levers, total = rungs(tuned), tuned.get("total")
    recommended = tuned.get("recommendation", {}).get("code") in ("use-socket", "install") and bool(levers)
    codes = [warning["code"] for warning in tuned.get("warnings", [])]
    claims = [rung.get("claim") for rung in tuned.get("rungs", [])]
    unproven = [lever for lever, claim in zip(levers, claims) if not proven(claim, total if len(levers) == 1 else None)]
    claimed, fresh = (estimate(total), estimate(judged and judged["comparison"])) if recommended else (None, None)
    of_fullest = estimate(full and full["comparison"])
    parts = [estimate(claim) for claim in claims if estimate(claim)]
    tails = [figure for figure in [(total or {}).get("latency_p99"), ((judged or {}).get("comparison") or {}).get("latency_p99")] if has_interval(figure)]
    screened = {one["lever"] for one in tuned.get("not_helped", [])} | {one["screened"]["lever"] for one in tuned.get("dropped", [])} | set(levers)
    return {
        "case": case["name"], "threads": case["threads"], "server": case["server"], "load": case["title"], "beside": case["beside"],
        "recommended": recommended, "levers": levers, "code": tuned.get("recommendation", {}).get("code"),
        "because": tuned.get("recommendation", {}).get("because", {}).get("kind"),
        "seconds": tuned["elapsed_seconds"], "seed": tuned["seed"], "version": tuned["server_version"],
        "claimed": claimed, "judged": fresh, "of_fullest": of_fullest,
        "p99": ((judged or {}).get("comparison") or {}).get("latency_p99") if recommended else None,
        "idle": [lever for lever in levers if lever in IDLE], "idle_screened": len([lever for lever in IDLE if lever in screened]),
        "dropped_for_tail": [one["screened"]["lever"] for one in tuned.get("dropped", []) if one["because"]["code"] == "tail"],
        "unproven": unproven,
        "holds": {
            "evidence": not unproven if recommended else None,
            # Where nothing was left out, the set is the fullest.
            "not less": of_fullest["high"] >= NOT_LESS if of_fullest else (None if fullest(tuned) else True),
            "tail": (not any(worse(tail) for tail in tails) if tails else None) if recommended else None,
            "no idle lever": not any(lever in IDLE for lever in levers),
            "parts": (meet(claimed, product(parts)) or APART in codes) if claimed and parts else None,
            "claim": meet(claimed, fresh) if claimed and fresh else None,
            "difference": within(claimed, fresh) if claimed and fresh else None,
            "few changes": len(levers) <= MOST_CHANGES if recommended and case["name"].startswith(BLOG) else None,
        },
    }


def proven(claim: dict | None, alone: dict | None) -> bool:
    """Whether a lever has evidence of its own. One that is handed over alone is the total."""
    return any((one.get("on_goal") or one["throughput"])["verdict"] == "faster" for one in (claim, alone) if one)


def cases(folder: Path) -> list[dict]:
    """What all cases that are done say, in their order."""
    found = []
    for path in sorted(folder.glob("*/case.json")):
        case = json.loads(path.read_text())
        files = [path.parent / f"{name}.json" for name in ("tuned", "judged", "fullest")]
        tuned, judged, full = [json.loads(file.read_text()) if file.exists() else None for file in files]
        found.append({"number": case["number"], "budgets": case["budgets"], "date": case["date"], **judge(case, tuned, judged, full)})
    return sorted(found, key=lambda one: one["number"])


QUESTIONS = {
    "evidence": "every lever handed over has duels of its own that show a gain",
    "not less": f"throughput is not shown below {NOT_LESS} of that with all promising levers",
    "tail": "p99 is not worse beyond its interval, by the tuning and by the judging",
    "no idle lever": "no planted idle lever is handed over",
    "parts": "the total meets the product of its parts, or the report says why not",
    "claim": "claimed and judged intervals meet",
    "difference": "claimed minus judged is within the interval of a difference",
    "few changes": f"WordPress: at most {MOST_CHANGES} changes",
}


def counts(found: list[dict]) -> dict[str, tuple[int, int]]:
    """Of each question: in how many cases it holds, of how many that can tell."""
    told = {name: [one["holds"][name] for one in found if one["holds"][name] is not None] for name in QUESTIONS}
    return {name: (sum(values), len(values)) for name, values in told.items()}


def show(figure: dict | None) -> str:
    return f"× {figure['ratio']:.2f} [{figure['low']:.2f}, {figure['high']:.2f}]" if has_interval(figure) else "–"


def line(one: dict) -> str:
    """A case on one line of the terminal."""
    wrong = [name for name, holds in one["holds"].items() if holds is False]
    unseen = [name for name, holds in one["holds"].items() if holds is None and (one["recommended"] or name == "not less") and name != "few changes"]
    end = f"fails: {', '.join(wrong)}" if wrong else f"not seen: {', '.join(unseen)}" if unseen else "all holds"
    because = f" ({one['because']})" if one["because"] else ""
    return (f"{one['case']}: {', '.join(one['levers']) or 'nothing'}{because}; claimed {show(one['claimed'])}, judged {show(one['judged'])}, "
            f"of the fullest {show(one['of_fullest'])}; {end}")


def summary(found: list[dict]) -> str:
    lines = [f"\n{len(found)} cases, {sum(one['recommended'] for one in found)} with a recommendation"]
    lines += [f"  {held} of {told}: {QUESTIONS[name]}" for name, (held, told) in counts(found).items()]
    return "\n".join(lines)


def figure(found: dict | None) -> dict:
    return {"ratio": found["ratio"], "low": found["low"], "high": found["high"], "decimals": 2} if has_interval(found) else {"text": "none"}


def words(text: str) -> dict:
    return {"text": text}


EXCEPTIONS = {
    "evidence": "a lever without evidence",
    "not less": "less than all promising levers",
    "tail": "a worse p99",
    "no idle lever": "an idle lever",
    "parts": "a total apart from its parts",
    "few changes": f"more than {MOST_CHANGES} changes",
}


def exceptions(one: dict) -> str:
    """What does not hold in a case."""
    wrong = [name for name, holds in one["holds"].items() if holds is False]
    # One word for both questions about the claim.
    said = [judged_apart(one) if name in ("claim", "difference") else EXCEPTIONS[name] for name in wrong]
    return ", ".join(dict.fromkeys(said)) or "–"


def judged_apart(one: dict) -> str:
    return f"judged {'higher' if one['judged']['ratio'] > one['claimed']['ratio'] else 'lower'} than claimed"


def record(found: list[dict], machine: dict) -> dict:
    """The record of docs/results; its figures are those of the cases alone."""
    told = counts(found)
    held = {name: f"{held} of {count}" for name, (held, count) in told.items()}
    given = sum(one["recommended"] for one in found)
    planted = sum(not one["holds"]["no idle lever"] for one in found)
    idle = [one["idle_screened"] for one in found]
    rows = []
    for one in found:
        rows.append({
            "name": f"{one['load']}{', busy' if one['beside'] else ''} ({one['server']})",
            "figures": {
                "handed over": words(", ".join(one["levers"]) or f"nothing ({one['because']})"), "claimed": figure(one["claimed"]), "judged": figure(one["judged"]),
                "p99, judged": figure(one["p99"]), "over the fullest": figure(one["of_fullest"]), "exception": words(exceptions(one)),
            }})
    # Those of a load, where there is one: captures are tuned and judged for longer.
    budget = min(found, key=lambda one: one["threads"] is None)["budgets"]
    tuned = sorted({one["budgets"]["tune"] for one in found}, key=lambda text: int(text[:-1]))
    return {
        "$schema": "schema.json",
        "id": "recommendations",
        "title": "What is recommended, judged blindly",
        "finding": f"Of {len(found)} tunings {given} recommend a change. Claimed and judged gains agree in {held['claim']}; "
                   f"{planted} hand over one of their {min(idle)} to {max(idle)} planted idle levers.",
        "runs": [{
            "title": "Tunings and their judging",
            "date": max(one["date"] for one in found),
            "commands": [
                "make test-recommendations",
                f"niagara tune SERVER … --budget {' or '.join(tuned)} --levers scripts/recommendations/idle-levers",
                f"niagara compare base handed-over --budget {budget['judge']} --to-the-end",
                f"niagara compare FULLEST handed-over --budget {budget['fullest']} --to-the-end",
            ],
            "seeds": [one["seed"] for one in found],
            "servers": sorted({f"{one['server']}: {one['version']}" for one in found}),
            "machine": machine,
            "conditions": "in busy rows two processes each took 30 % of a CPU, in bursts of 20 to 400 ms",
            "time": f"{min(one['seconds'] for one in found) / 60:.1f} to {max(one['seconds'] for one in found) / 60:.1f} min each",
            "tables": [
                {"title": "Claimed by `tune`, judged by a later `compare`", "rows_are": "load",
                 "over": "the start; “over the fullest”: over all promising levers together",
                 "columns": ["handed over", "claimed", "judged", "p99, judged", "over the fullest", "exception"], "rows": rows},
                {"title": "In all", "rows_are": "what must hold", "columns": ["holds in"],
                 "rows": [{"name": QUESTIONS[name], "figures": {"holds in": words(held[name])}} for name in QUESTIONS]},
            ],
            "notes": [
                "The tunings of the first nine loads and of WordPress screened five planted idle levers.",
                "Captures: --slice 200ms --couples 12, the longer budget. Their judging, and that of loads that write, takes twice as long.",
                "The judging has other seeds, and a variant that is made of the record alone.",
            ],
            "found": [
                "Where “over the fullest” has none, all promising levers were handed over.",
            ],
        }],
    }
