"""``mantis``: information-seeking dialogues of Stack Exchange."""
