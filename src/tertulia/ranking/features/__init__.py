"""Hand-made features of a response to a conversation, after Wang et al. (2013) and since: one matrix for all candidates."""

from tertulia.ranking.features.feature_set import LEARNED_PARTS, RELATIVE, FeatureSet, describe

__all__ = ["LEARNED_PARTS", "RELATIVE", "FeatureSet", "describe"]
