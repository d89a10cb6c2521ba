"""The knobs that every tuner may turn: names, ranges, defaults (knobs.json), and configurations of them as text."""

import json
import math
import pathlib

KNOBS = json.loads((pathlib.Path(__file__).parent / "knobs.json").read_text())


def default():
    """The server's own values."""
    return {name: knob["default"] for name, knob in KNOBS.items()}


def scaled(knob, share):
    """The value that lies at `share` (0 to 1) of a knob's range."""
    low, high = knob["from"], knob["to"]
    if knob["scale"] == "log":
        return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    return low + share * (high - low)


def rounded(knob, value):
    """The nearest value that the server takes."""
    unit = knob.get("unit", 1)
    return min(max(int(round(value / unit)) * unit, knob["from"]), knob["to"])


def variables(config):
    """Names and values as the server takes them; what is at its default is left out."""
    settings = {}
    for name, knob in KNOBS.items():
        value = config[name]
        if "choices" in knob:
            changed = value != knob["default"]
        elif "times" in knob:
            base = int(config[knob["times"]])
            changed = value != knob["default"] or knob["times"] in settings
            value = max(int(round(base * value)), base)
        else:
            value = rounded(knob, value)
            changed = value != knob["default"]
        if changed:
            settings[name] = str(value)
    return settings


def variant(settings):
    """How `niagara compare` and `niagara bench --variant` write variables."""
    return ",".join(f"cfg.{name}={value}" for name, value in sorted(settings.items())) or "base"
