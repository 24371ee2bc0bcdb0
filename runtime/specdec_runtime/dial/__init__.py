"""The dial: how many tokens the running engine drafts, changed from outside without a restart."""
