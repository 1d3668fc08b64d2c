"""Where the log lives when nobody says otherwise: the user's data folder."""

from __future__ import annotations

from platformdirs import user_data_path

__all__ = ["default_database"]


def default_database() -> str:
    """The path of the user's own log; its folder is made where it is not there."""
    folder = user_data_path("tertulia")
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder / "log.sqlite")
