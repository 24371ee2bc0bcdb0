"""What the engine accepts, and the flags that say it. Pure."""
