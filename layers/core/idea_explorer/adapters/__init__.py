"""One external system per file. Adapters know the domain and the ports, and nothing else of us."""
