"""How the command `specdec` is packed: its man page, and the archives and the manifest of the kubectl plugin."""
