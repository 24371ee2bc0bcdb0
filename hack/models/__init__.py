"""The tiny pair that tests and the demo serve: a target that knows code and a second language, a draft that knows
code only. So a change of the traffic changes what the draft is worth, on any machine.
"""
