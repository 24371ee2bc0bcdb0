"""engine/data from an installed engine: what it is asked, and how its answers become a column of the tables."""
