"""The loop and what feeds it: observe, judge, advance, plan, render, apply, report."""
