"""The store of examples: made from raw text, opened, drawn from in batches."""
