"""Every test that asks for ``kernel`` runs once with each way of computing the score that this machine has."""

from __future__ import annotations

import pytest

from tertulia.retrieval.engine import compiled_variants

KERNELS = ("numpy", "baseline", "avx2")


@pytest.fixture(params=KERNELS)
def kernel(request, monkeypatch):
    if request.param != "numpy" and request.param not in compiled_variants():
        pytest.skip(f"the kernel variant {request.param!r} was not built or this processor cannot run it")
    monkeypatch.setenv("TERTULIA_KERNEL", request.param)
    return request.param
