"""The starter bot's own material, written for this project: conversations, rules, backup lines. Data only."""
