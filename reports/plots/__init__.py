"""Figures of how an operator's variants fare, besides their times and bytes."""
