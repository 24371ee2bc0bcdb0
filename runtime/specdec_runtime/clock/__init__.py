"""Times the steps of an engine from inside: by tokens drafted and by requests in the batch."""
