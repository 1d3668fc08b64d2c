"""The compiled kernels; everything else about the build stands in pyproject.toml.

An extension is optional: where there is no compiler the package installs without it, and Python or NumPy gives the same
answers more slowly.
"""

from __future__ import annotations

import sys
from glob import glob

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

# Extension → the folder of its sources.
KERNELS = {
    "tertulia.retrieval._kernel": "src/tertulia/retrieval/kernel",
    "tertulia.retrieval._bm25": "src/tertulia/retrieval/bm25_kernel",
    "tertulia.stackexchange._rows": "src/tertulia/stackexchange/rows_kernel",
}

# Scores are equal to the last bit everywhere: no fused multiplication and addition, no reordering of sums.
FLAGS = (
    ["/std:c++17", "/O2", "/fp:precise"]
    if sys.platform == "win32"
    else ["-std=c++17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-g0"]
)


class StableWheel(bdist_wheel):
    """Tags the wheel for Python 3.11 and later: the kernel uses nothing but the limited API."""

    def finalize_options(self) -> None:
        """Set the tag."""
        self.py_limited_api = "cp311"
        super().finalize_options()


setup(
    ext_modules=[
        Extension(
            name,
            sources=sources,
            depends=sorted(glob("src/tertulia/*/*kernel/*.hpp")),
            extra_compile_args=FLAGS,
            py_limited_api=True,
            optional=True,
        )
        for name, folder in KERNELS.items()
        if (sources := sorted(glob(f"{folder}/*.cpp")))
    ],
    cmdclass={"bdist_wheel": StableWheel},
)
