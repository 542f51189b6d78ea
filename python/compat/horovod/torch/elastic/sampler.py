# SPDX-License-Identifier: Apache-2.0
from hvd.torch.elastic import ElasticSampler  # noqa: F401
