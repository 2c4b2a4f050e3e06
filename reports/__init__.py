"""Frames in, Markdown, HTML and figures out."""
