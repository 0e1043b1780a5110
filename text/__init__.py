"""What becomes of a model's words before Discord sees them. Pure: text in, text out.

The way of a reply, one stage a module:

    think      reasoning tags leave the visible text
    segmenter  the stream is cut where a reader would pause
    tables     tables become what Discord can show
    mentions   nobody is pinged who should not be
    split      each segment becomes messages of at most 2000 code points

`fences`, `inline`, `blocks` and `graphemes` are the grammar they share.
"""
