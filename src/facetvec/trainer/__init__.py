"""Learning: a store and a word space in, a model out; stopped and started at will."""
