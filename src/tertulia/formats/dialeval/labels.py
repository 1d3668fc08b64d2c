"""What annotators of customer-helpdesk dialogues say: the nugget types of either side, and the three qualities on their scale.

Source: Zeng, Luo, Shang, Li and Sakai 2017, EVIA; the data sets of NTCIR-14 STC-3 and NTCIR-15 DialEval-1.
"""

from __future__ import annotations

from collections.abc import Mapping

from tertulia.corpus.model import Role

__all__ = ["NUGGETS", "QUALITIES", "ROLES", "SCALE"]

NUGGETS: Mapping[str, tuple[str, ...]] = {
    "customer": ("CNUG0", "CNUG", "CNUG*", "CNaN"),
    "helpdesk": ("HNUG", "HNUG*", "HNaN"),
}
"""The nugget types of a sender's turns, in the official order: trigger, regular, goal, not a nugget."""
QUALITIES = ("A", "S", "E")
"""Task accomplishment, customer satisfaction, effectiveness."""
SCALE = (2, 1, 0, -1, -2)
"""The grades of a quality, in the official order."""
ROLES: Mapping[str, Role] = {"customer": "user", "helpdesk": "agent"}
