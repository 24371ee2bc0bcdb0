"""How often the guard is wrong, and how soon it is right: simulated traffic through the real windows and decisions."""
