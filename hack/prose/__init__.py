"""A check of the project's prose: words and constructions that make a sentence harder to read than it has to be."""
