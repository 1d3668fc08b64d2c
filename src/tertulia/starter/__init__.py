"""The starter bot's own material, written for this project: conversations, exchanges, rules, backup lines. Data only."""
