"""The compiled kernel; its source is in ``kernel/``."""

def variants() -> tuple[str, ...]:
    """The variants that this processor can run, the fastest first."""
