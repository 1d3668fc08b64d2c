"""One Spark cluster for all tests that need it, in one process."""

import pytest

from .spark_cluster import spark_cluster

__all__ = ["spark_cluster"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark_cluster" in getattr(item, "fixturenames", ()) or "spark" in item.path.stem:
            item.add_marker(pytest.mark.xdist_group("spark"))
