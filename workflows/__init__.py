"""Rules of the workflow, and the modules that serve them alone."""
