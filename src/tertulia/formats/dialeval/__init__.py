"""``dialeval``: customer-helpdesk dialogues with every annotator's labels, and submissions."""
