"""GitHub over its REST API: research, code, publishing, approved changes and reverts."""
