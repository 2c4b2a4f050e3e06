"""What changed between two revisions, whether it is real, and why: frames in, findings out."""
