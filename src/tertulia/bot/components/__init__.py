"""The components of the agent, one module each, found through ``tertulia.bot.registry``."""
