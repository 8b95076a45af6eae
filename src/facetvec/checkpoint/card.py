"""The model card: what a model is and where it comes from, in Hugging Face's form.

In: the tables of `config.json`. Out: Markdown.
"""

from collections.abc import Mapping
from typing import Any


def model_card(config: Mapping[str, Any]) -> str:
    """Return the README of a model folder."""
    facts, model = config.get("facts", {}), config.get("model", {})
    lines = [
        "---",
        "library_name: facetvec",
        "tags: [sentence-similarity, feature-extraction, multi-facet]",
        "---",
        "",
        f"# {facts.get('name', 'A facetvec model')}",
        "",
        f"Gives a {config.get('corpus', {}).get('unit', 'text')} {model.get('num_facets')} facets of "
        f"{model.get('dim')} dimensions in the space of its word vectors.",
        "",
        "## Facts",
        "",
        *_table(facts),
        "",
        "## Network",
        "",
        *_table(model),
        "",
        "## Corpus",
        "",
        *_table(config.get("corpus", {})),
        "",
        "## Training",
        "",
        *_table(config.get("training", {})),
    ]
    return "\n".join(lines) + "\n"


def _table(facts: Mapping[str, Any]) -> list[str]:
    rows = [f"| {name.replace('_', ' ')} | {_shown(value)} |" for name, value in facts.items() if value is not None]
    return ["| | |", "|---|---|", *rows]


def _shown(value: object) -> str:
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
