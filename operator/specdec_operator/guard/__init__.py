"""Evidence, verdicts and the state machine that decides whether speculation stays. Pure: time is a parameter."""
