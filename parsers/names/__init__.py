"""What a kernel's name says: short names for people, and the parts of it for tables."""

from parsers.names.decoding import decode, decode_names
from parsers.names.kernel import KernelName
from parsers.names.short import short_name

__all__ = ["KernelName", "decode", "decode_names", "short_name"]
