"""Music services: the track index, the library, embeddings and the Tidal catalogue."""
