"""The index of research documents: one SQLite file, kept current from where the documents are."""
