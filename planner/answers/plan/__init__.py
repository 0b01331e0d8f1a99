"""A plan in tables, sentences and one document."""
