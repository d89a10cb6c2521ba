"""Tuners that search: each proposes configurations, is told their throughput, and names its best when time is up.

A search is called with `evaluate` (configuration to transactions per second, 0 where the server does not start), a seed,
and `time_left` (seconds). The first evaluation is always the default configuration.
"""

import random

from knobs import KNOBS, default, scaled


class OutOfTime(Exception):
    """The budget is spent; raised by `evaluate` before it begins what could not end."""


def best_of(tried):
    """The configuration that looked best, and its throughput as the tuner saw it."""
    return max(tried, key=lambda one: one[1]) if tried else (default(), 0.0)


def random_search(evaluate, seed, time_left):
    """Uniform draws, on the scale of each knob."""
    draw = random.Random(seed)
    tried = []
    try:
        tried.append((default(), evaluate(default())))
        while True:
            config = {
                name: draw.choice(knob["choices"]) if "choices" in knob else scaled(knob, draw.random())
                for name, knob in KNOBS.items()
            }
            tried.append((config, evaluate(config)))
    except OutOfTime:
        return best_of(tried)


def optuna_search(evaluate, seed, time_left):
    """Optuna's tree-structured Parzen estimator, as it comes."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    study.enqueue_trial(default())
    tried = []

    try:
        while True:
            trial = study.ask()
            config = {}
            for name, knob in KNOBS.items():
                if "choices" in knob:
                    config[name] = trial.suggest_categorical(name, knob["choices"])
                else:
                    config[name] = trial.suggest_float(name, knob["from"], knob["to"], log=knob["scale"] == "log")
            tps = evaluate(config)
            tried.append((config, tps))
            study.tell(trial, tps)
    except OutOfTime:
        return best_of(tried)


def smac_search(evaluate, seed, time_left):
    """SMAC3's facade for black boxes with many dimensions (random forest), as it comes."""
    import tempfile

    from ConfigSpace import Categorical, ConfigurationSpace, Float
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory.dataclasses import TrialInfo, TrialValue

    space = ConfigurationSpace(seed=seed)
    for name, knob in KNOBS.items():
        if "choices" in knob:
            space.add(Categorical(name, knob["choices"], default=knob["default"]))
        else:
            space.add(Float(name, (knob["from"], knob["to"]), default=knob["default"], log=knob["scale"] == "log"))
    tried = []

    def cost(config, seed=0):
        config = dict(config)
        tps = evaluate(config)
        tried.append((config, tps))
        return -tps

    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(space, deterministic=True, n_trials=100_000, seed=seed, output_directory=folder)
        facade = HyperparameterOptimizationFacade
        search = facade(
            scenario,
            cost,
            initial_design=facade.get_initial_design(scenario, n_configs=8),
            overwrite=True,
            logging_level=False,
        )
        try:
            # As a configuration of its design it would come after those that the design draws.
            default_configuration = space.get_default_configuration()
            search.tell(TrialInfo(default_configuration, seed=0), TrialValue(cost=cost(default_configuration)))
            # Asked and told, so that the end of the budget ends it: an exception within `optimize` counts as a crash.
            while True:
                trial = search.ask()
                search.tell(trial, TrialValue(cost=cost(trial.config)))
        except OutOfTime:
            pass
    return best_of(tried)


SEARCHES = {"random": random_search, "optuna": optuna_search, "smac": smac_search}
