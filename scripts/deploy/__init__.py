"""`make deploy` and `make undeploy`: a stack of this checkout, set up as samconfig.toml says."""
