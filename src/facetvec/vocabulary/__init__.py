"""Words: the rules by which text is cut, the tokenizer, counts, stop words."""
