"""HTTP: public URLs chosen by a user or a model, and services configured by the deployment."""
