"""``convokit``: corpus folders of ConvoKit."""
