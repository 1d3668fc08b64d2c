"""The compiled kernel of the matching score; everything else about the build stands in pyproject.toml.

The extension is optional: where there is no compiler the package installs without it, and NumPy gives the same answers
more slowly.
"""

from __future__ import annotations

import sys

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

KERNEL = "src/tertulia/retrieval/kernel"
SOURCES = [
    "module.cpp",
    "open_segment.cpp",
    "search.cpp",
    "search_avx2.cpp",
    "search_baseline.cpp",
    "segment.cpp",
    "words.cpp",
]
HEADERS = [
    "bounds.hpp",
    "open_segment.hpp",
    "python.hpp",
    "search.hpp",
    "search_variant.hpp",
    "segment.hpp",
    "words.hpp",
]

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
            "tertulia.retrieval._kernel",
            sources=[f"{KERNEL}/{name}" for name in SOURCES],
            depends=[f"{KERNEL}/{name}" for name in HEADERS],
            extra_compile_args=FLAGS,
            py_limited_api=True,
            optional=True,
        )
    ],
    cmdclass={"bdist_wheel": StableWheel},
)
