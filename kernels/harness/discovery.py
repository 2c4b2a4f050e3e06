"""Find the operators: the modules in the folder ``kernels/`` whose name has no leading underscore.

Only `load` imports a module. The rest reads file names and source text, so that it costs nothing
while a Snakefile is read and needs neither torch nor Triton.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kernels.harness.errors import HarnessError
from kernels.harness.spec import NAME, RESERVED, Operator

FOLDER = Path(__file__).resolve().parents[1]
PACKAGE = "kernels"
HARNESS = "harness"


class OperatorError(HarnessError):
    """An operator cannot be loaded: its file, what is wrong with it, and the way out."""


def names(folder: Path = FOLDER) -> list[str]:
    """Return the names of the operators in a folder, sorted; `misnamed` has the other modules."""
    return sorted(set(_modules(folder)) - set(misnamed(folder)))


def misnamed(folder: Path = FOLDER) -> list[str]:
    """Return the modules in a folder that cannot be operators, for their names say other things."""
    return sorted(
        name for name in _modules(folder) if not re.fullmatch(NAME, name) or name in RESERVED
    )


def _modules(folder: Path) -> list[str]:
    return [path.stem for path in folder.glob("*.py") if not path.name.startswith("_")]


def load(name: str, folder: Path = FOLDER) -> Operator:
    """Import the module of an operator and return its ``OPERATOR``.

    Parameters
    ----------
    name
        Name of the operator, which is the name of its module.
    folder
        Folder of the package ``kernels``.

    Raises
    ------
    OperatorError
        When there is no such module, its import fails, it has no ``OPERATOR``, or that operator
        has another name than the module.
    """
    where = _module_file(name, folder).relative_to(folder.parent)
    try:
        module = importlib.import_module(f"{PACKAGE}.{name}")
    except Exception as error:
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        raise OperatorError(str(where), f"the import fails, {cause}", "mend the module") from error
    operator = getattr(module, "OPERATOR", None)
    if not isinstance(operator, Operator):
        found = "nothing" if operator is None else type(operator).__name__
        raise OperatorError(
            str(where), f"expected OPERATOR = Operator(...), found {found}", "define it"
        )
    if operator.name != name:
        raise OperatorError(
            str(where),
            f"OPERATOR is named {operator.name!r}",
            f"name it {name!r}, after its module",
        )
    return operator


def variants(name: str, folder: Path = FOLDER) -> tuple[str, ...]:
    """Return the names of an operator's variants, in order, by its source text.

    They are the texts that calls of ``Variant`` begin with. A module without such a call takes its
    variants from those that it imports: the ones that it names, or all where it names none.

    Raises
    ------
    OperatorError
        As `source_files` does.
    """
    own, files = _module_file(name, folder), source_files(name, folder)
    made, words = _texts(own.read_bytes())
    if made:
        return made
    others = [_texts(path.read_bytes())[0] for path in files if path != own]
    known = dict.fromkeys(variant for found in others for variant in found)
    return tuple(variant for variant in known if variant in words) or tuple(known)


def source_files(name: str, folder: Path = FOLDER) -> tuple[Path, ...]:
    """Return the files that an operator's results depend on, sorted.

    These are its module and the modules of ``kernels/`` that it imports, directly or not. The
    harness is left out: it measures an operator and is no part of it.

    Raises
    ------
    OperatorError
        When there is no such module, or one of the files is not Python.
    """
    found: set[Path] = set()
    waiting = [_module_file(name, folder)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting.extend(_imported_files(path, folder))
    return tuple(sorted(found))


def source_sha256(name: str, folder: Path = FOLDER) -> str:
    """Return a SHA-256, in hexadecimal, of the names and bytes of an operator's source files.

    Raises
    ------
    OperatorError
        As `source_files` does.
    """
    digest = hashlib.sha256()
    for path in source_files(name, folder):
        content = path.read_bytes()
        # The length keeps two files apart from one that holds both.
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _module_file(name: str, folder: Path) -> Path:
    known = names(folder)
    if name not in known:
        raise OperatorError(
            f"{folder.name}/{name}.py",
            "no such operator",
            f"choose one of {', '.join(known) or 'none'}",
        )
    return folder / f"{name}.py"


def _imported_files(path: Path, folder: Path) -> Iterator[Path]:
    parents = path.relative_to(folder.parent).parent.parts
    try:
        modules = _imported_modules(path.read_bytes(), path.name, parents)
    except (SyntaxError, ValueError) as error:
        where = path.relative_to(folder.parent)
        raise OperatorError(str(where), f"not Python, {error}", "mend the module") from error
    for module in modules:
        package, *parts = module.split(".")
        if package != PACKAGE or not parts or parts[0] == HARNESS:
            continue
        stem = folder.joinpath(*parts)
        for candidate in (stem.with_suffix(".py"), stem / "__init__.py"):
            if candidate.is_file():
                yield candidate


@cache
def _imported_modules(content: bytes, name: str, parents: tuple[str, ...]) -> tuple[str, ...]:
    """Return the absolute names that may be modules; ``from a import b`` gives ``a`` and ``a.b``.

    While a Snakefile is read, each module is asked for many times; its content is the key.
    """
    found: list[str] = []
    for node in ast.walk(ast.parse(content, filename=name)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # One dot is the module's own package, each further dot the package above.
            base = (PACKAGE, *parents[1:])[: len(parents) + 1 - node.level] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            found += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return tuple(found)


@cache
def _texts(content: bytes) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the texts that calls of ``Variant`` begin with, in order, and every text there is."""
    made: dict[tuple[int, int], str] = {}
    words: set[str] = set()
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.add(node.value)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "Variant"
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            made[node.lineno, node.col_offset] = str(node.args[0].value)
    return tuple(made[place] for place in sorted(made)), frozenset(words)
