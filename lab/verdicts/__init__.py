"""The rules against the engines' own configuration code: recordings judged, and new ones made."""
