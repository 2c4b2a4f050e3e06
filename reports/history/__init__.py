"""How each variant fared from one recorded revision to the next: frames in, a page out."""
