"""The rankers, one module each; ``tertulia.ranking.registry`` names them."""
