"""An operator's set-up of a deployment."""
