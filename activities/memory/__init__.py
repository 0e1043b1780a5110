"""What a persona remembers for good: the rules that its two tools share (behaviour 7.2).

subject.py   whom a memory is about
text.py      what of a model's text is kept
"""
