"""What a tuning hands over, as a variant of `niagara compare`: made from the record alone."""
import json
from pathlib import Path

NAME = "handed-over"
# Reasons for which a promising lever is never part of a variant to compare with.
UNUSABLE = "unsound"
# What a deployment may start the server's process with, as far as this file knows it; CPUs come by name.
KNOWN = {"transport", "huge_pages_text", "scheduling", "environment", "server_cpus", "client_cpus"}


def handed_over(tuned: dict, folder: Path) -> str | None:
    """The variant's name, its file written into `folder` as a lever; `None` where nothing is recommended."""
    deployment = tuned.get("deployment")
    if not rungs(tuned) or not tuned.get("recommendation", {}).get("code") in ("use-socket", "install"):
        return None
    if deployment is None:
        # The socket alone makes no files; what is recommended is its levers.
        return ",".join(rungs(tuned))
    folder.mkdir(exist_ok=True)
    config = dict(deployment["config"])
    locked = "memlock" in config and config.pop("memlock") == ""
    lines = ['title = "what is handed over"', 'theme = "recommendation"', 'risk = "none"', 'why = "The files of deploy/, and how the application connects."',
             'source = "the tuning\'s record"', "[change]"]
    runtime = deployment["runtime"]
    malloc, scheduling = deployment.get("malloc"), runtime.get("scheduling")
    unknown = {key for key, value in runtime.items() if value} - KNOWN
    if unknown:
        raise SystemExit(f"{NAME}: nothing here writes {', '.join(sorted(unknown))} of what is handed over: add it to variants.py")
    if malloc:
        lines.append(f"malloc = {text(malloc['name'])}")
    if runtime.get("transport") == "unix" and deployment.get("transport_before") != "unix":
        lines.append('transport = "unix"')
    if runtime.get("huge_pages_text"):
        lines.append("huge_pages_text = true")
    if locked:
        lines.append("lock_memory = true")
    if isinstance(scheduling, dict):
        lines.append(f"scheduling = {text('nice ' + str(scheduling['nice']))}")
    elif scheduling:
        lines.append(f"scheduling = {text(scheduling)}")
    lines += table("change.config", config) + table("change.environment", runtime.get("environment", {}))
    (folder / f"{NAME}.toml").write_text("\n".join(lines) + "\n")
    # CPUs are chosen by expressions, not by lists: these levers come by name.
    placed = [lever for lever in rungs(tuned) if lever.startswith("placement-")]
    return ",".join([NAME, *placed])


def fullest(tuned: dict) -> str | None:
    """All that the screening promoted, by name; `None` where that is what is handed over."""
    dropped = [one["screened"]["lever"] for one in tuned.get("dropped", []) if one["because"]["code"] != UNUSABLE]
    if not dropped:
        return None
    chosen = [f"cfg.{choice}" for choice in (rung.get("chosen") for rung in tuned.get("rungs", [])) if choice and "=" in choice]
    return ",".join([*rungs(tuned), *dropped, *chosen])


def rungs(tuned: dict) -> list[str]:
    """The levers that are handed over."""
    return [rung["screened"]["lever"] for rung in tuned.get("rungs", [])]


def table(name: str, values: dict[str, str]) -> list[str]:
    return [f"[{name}]", *(f"{text(key)} = {text(value)}" for key, value in sorted(values.items()))] if values else []


def text(value: str) -> str:
    return json.dumps(value)
