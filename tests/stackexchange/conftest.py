"""One Spark cluster for all tests that need it; they are of the group ``spark``, which runs in one process."""

from .spark_cluster import spark_cluster

__all__ = ["spark_cluster"]
