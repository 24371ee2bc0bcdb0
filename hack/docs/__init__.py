"""Code that the documentation's site needs in addition to mkdocs, and with which its tests read pages."""
