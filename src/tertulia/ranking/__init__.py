"""Response ranking: sets with hard negatives."""
