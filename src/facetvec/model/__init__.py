"""The network that turns texts into facets: encoder and facet decoder."""
