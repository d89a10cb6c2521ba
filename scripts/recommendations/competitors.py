"""Others who use the CPUs: processes that each take a share of one CPU in bursts of random length."""
import contextlib
import multiprocessing
import os
import random
import time

BURST = (0.02, 0.4)


def compete(seed: int, share: float, parent: int) -> None:
    """Uses `share` of a CPU until its parent is gone."""
    draw = random.Random(seed)
    while os.getppid() == parent:
        burst = draw.uniform(*BURST)
        until = time.process_time() + burst
        while time.process_time() < until:
            pass
        # Pauses vary as well; on average they are as long as the share asks for.
        time.sleep(burst * (1 - share) / share * draw.uniform(0.5, 1.5))


@contextlib.contextmanager
def beside(count: int, share: float, seed: int):
    """`count` competitors while the block runs."""
    context = multiprocessing.get_context("fork")
    all_of_them = [context.Process(target=compete, args=(seed + number, share, os.getpid()), daemon=True) for number in range(count)]
    for one in all_of_them:
        one.start()
    try:
        yield
    finally:
        for one in all_of_them:
            one.terminate()
            one.join()
