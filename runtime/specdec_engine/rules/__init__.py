"""The rules, one file a topic, in the order in which the engine looks."""
