"""What the documentation's site needs besides mkdocs, and what its tests read pages with."""
