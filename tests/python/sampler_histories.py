# SPDX-License-Identifier: Apache-2.0
"""ElasticSampler through random histories of an elastic job: steps, commits, lost ranks, new ranks, new epochs.

    python3 sampler_histories.py [SEED [HISTORIES]]

Whatever happens, each sample of an epoch counts once; in the last step some may come twice, fewer than there are ranks.
"""
import random
import sys

import hvd.torch.elastic.sampler as module

place = [0, 1]  # rank and size of the sampler that is at work
module._world.is_initialized = lambda: True
module._world.rank, module._world.size = lambda: place[0], lambda: place[1]


def at(rank, size, function, *arguments):
    place[:] = rank, size
    return function(*arguments)


def synchronized(samplers, holders):
    """What TorchState does: all take over the state of a rank that has one."""
    state = at(holders[0], len(samplers), samplers[holders[0]].state_dict)
    for rank, sampler in enumerate(samplers):
        at(rank, len(samplers), sampler.load_state_dict, state)


def one_history(chance):
    count, batch, size = chance.randint(1, 60), chance.randint(1, 3), chance.randint(1, 5)
    make = lambda rank, size: at(rank, size, module.ElasticSampler, range(count), chance_shuffle, 7)  # noqa: E731
    chance_shuffle = chance.random() < 0.5
    samplers = [make(rank, size) for rank in range(size)]
    synchronized(samplers, [0])
    counted, kept, kept_counted, step, ranks = [], [each.kept() for each in samplers], [], 0, 1
    while step * batch < len(samplers[0]):
        for sampler in samplers:
            counted += sampler.get_indices(step, batch)
            sampler.record_batch(step, batch)
        step += 1
        ranks = len(samplers)  # of the last step
        if chance.random() < 0.5:  # commit
            kept, kept_counted = [each.kept() for each in samplers], list(counted)
        event = chance.random()
        if event < 0.15:  # ranks are lost, and maybe others come; the survivors go back to the commit
            alive = sorted(chance.sample(range(len(samplers)), chance.randint(1, len(samplers))))
            for rank in alive:
                samplers[rank].restored(kept[rank])
            counted = list(kept_counted)
        elif event < 0.3:  # hosts have changed, which a commit tells
            alive = list(range(len(samplers)))
        else:
            continue
        size = len(alive) + chance.randint(0, 2)
        samplers = [samplers[rank] for rank in alive] + [make(rank, size) for rank in range(len(alive), size)]
        synchronized(samplers, list(range(len(alive))))
        kept, kept_counted, step = [each.kept() for each in samplers], list(counted), 0
    missing = set(range(count)) - set(counted)
    assert not missing, f"lost: {sorted(missing)}"
    twice = len(counted) - count
    assert 0 <= twice < max(ranks, 1), f"{twice} came twice, in a step of {ranks} ranks"


seed, histories = int(sys.argv[1]) if len(sys.argv) > 1 else 1, int(sys.argv[2]) if len(sys.argv) > 2 else 2000
for number in range(seed, seed + histories):
    try:
        one_history(random.Random(number))
    except AssertionError as error:
        sys.exit(f"history {number}: {error}")
print(f"{histories} histories")
