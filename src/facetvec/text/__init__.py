"""Raw text: sources → blocks → documents → sentences and noun phrases."""
