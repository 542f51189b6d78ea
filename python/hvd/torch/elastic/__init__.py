# SPDX-License-Identifier: Apache-2.0
"""Elastic training of PyTorch's models; the calls are those of horovod.torch.elastic.

    import hvd.torch as hvd

    @hvd.elastic.run
    def train(state):
        for state.epoch in range(state.epoch, 10):
            state.sampler.set_epoch(state.epoch)
            for state.batch, (images, labels) in enumerate(loader):
                ...
                state.sampler.record_batch(state.batch, batch_size)
                state.commit()

    hvd.init()
    sampler = hvd.elastic.ElasticSampler(dataset)
    loader = torch.utils.data.DataLoader(dataset, batch_size, sampler=sampler)
    state = hvd.elastic.TorchState(model, optimizer, sampler=sampler, epoch=0, batch=0)
    state.register_reset_callbacks([lambda: scale_learning_rate(hvd.size())])
    train(state)

hvd.elastic tells what run() does. Between init() and run() there is no collective of yours: ranks that come later
call it, and those that train do not.
"""
from ...elastic import HorovodInternalError, HostsUpdatedInterrupt, ObjectState, State, run
from .sampler import ElasticSampler
from .state import TorchState

__all__ = [
    "ElasticSampler",
    "HorovodInternalError",
    "HostsUpdatedInterrupt",
    "ObjectState",
    "State",
    "TorchState",
    "run",
]
