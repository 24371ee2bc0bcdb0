"""The command `specdec`: what people ask before, beside and after the operator, whose image does not carry it."""
