"""What runs an operator: its description, discovery, builds, checks and measuring passes."""
