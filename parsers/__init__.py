"""Nsight exports and the harness's own captures, read into pandas frames with declared schemas."""
