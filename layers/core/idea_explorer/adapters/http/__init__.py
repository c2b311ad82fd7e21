"""HTTP: public URLs that a user or a model chose, and services that the deployment configured."""
