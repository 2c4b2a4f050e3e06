from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kernels
from kernels.harness import discovery
from kernels.harness.discovery import OperatorError

OPERATOR = """
from kernels.harness.spec import Case, Cost, Operator, Tolerance, Variant
OPERATOR = Operator("{name}", "", (Variant("naive", abs, ""),), ("n",), (Case((1,), "float32"),),
                    lambda *_: (), abs, lambda _: Cost(0, 0, 0), lambda _: Tolerance(0, 0))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder whose modules are imported as those of ``kernels``."""
    made = tmp_path / "kernels"
    made.mkdir()
    monkeypatch.setattr(kernels, "__path__", [*kernels.__path__, str(made)])
    for name in [name for name in sys.modules if name.startswith("kernels.toy")]:
        monkeypatch.delitem(sys.modules, name)
    return made


def test_names_are_sorted_and_without_private_modules(folder: Path) -> None:
    for name in ("b", "a", "_shared", "__init__"):
        (folder / f"{name}.py").touch()
    (folder / "harness").mkdir()
    assert discovery.names(folder) == ["a", "b"]


def test_gelu_is_there() -> None:
    assert "gelu" in discovery.names()
    assert discovery.load("gelu").name == "gelu"


def test_looking_imports_neither_torch_nor_triton() -> None:
    code = (
        "import sys; from kernels.harness import discovery as d; d.source_sha256(d.names()[0])"
        "; d.variants('gelu')"
        "; assert not {'torch', 'triton', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


def test_load(folder: Path) -> None:
    (folder / "toy_fine.py").write_text(OPERATOR.format(name="toy_fine"))
    assert discovery.load("toy_fine", folder).name == "toy_fine"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"^kernels/toy_bad\.py: expected OPERATOR = Operator\(\.\.\.\), found nothing; def"),
        ("OPERATOR = 3", r"found int; define it$"),
        (OPERATOR.format(name="other"), r"OPERATOR is named 'other'; name it 'toy_bad', after"),
        ("import not_a_package", r"the import fails, ModuleNotFoundError: .*; mend the module$"),
        ("raise ValueError('two\\nlines')", r"the import fails, ValueError: two lines; mend"),
        ("def broken(:", r"the import fails, SyntaxError: .*; mend the module$"),
    ],
)
def test_errors_are_one_line(folder: Path, text: str, message: str) -> None:
    (folder / "toy_bad.py").write_text(text)
    with pytest.raises(OperatorError, match=message) as caught:
        discovery.load("toy_bad", folder)
    assert "\n" not in str(caught.value)


def test_unknown_operator_lists_the_known(folder: Path) -> None:
    (folder / "a.py").touch()
    (folder / "b.py").touch()
    with pytest.raises(OperatorError, match=r"^kernels/c\.py: no such operator; .* a, b$"):
        discovery.load("c", folder)
    with pytest.raises(OperatorError, match="no such operator"):
        discovery.load("harness", folder)


def test_source_files_follow_imports(folder: Path) -> None:
    (folder / "toy.py").write_text(
        "import math, torch\n"
        "from kernels.harness.spec import Operator\n"
        "from kernels import _shared\n"
        "def late():\n    import kernels.other.deep\n"
    )
    (folder / "_shared.py").write_text("from . import toy\nfrom .third import thing")
    (folder / "third.py").touch()
    (folder / "unused.py").touch()
    (folder / "other").mkdir()
    (folder / "other" / "__init__.py").touch()
    (folder / "other" / "deep.py").write_text("from .. import fourth\nfrom .sister import x")
    (folder / "other" / "sister.py").touch()
    (folder / "fourth.py").touch()
    found = [path.relative_to(folder).as_posix() for path in discovery.source_files("toy", folder)]
    assert found == sorted(
        ["_shared.py", "fourth.py", "other/deep.py", "other/sister.py", "third.py", "toy.py"]
    )


def test_source_sha256_changes_with_what_is_imported(folder: Path) -> None:
    (folder / "toy.py").write_text("from kernels import _shared")
    (folder / "_shared.py").write_text("a = 1")
    (folder / "unused.py").write_text("a = 1")
    first = discovery.source_sha256("toy", folder)
    (folder / "unused.py").write_text("a = 2")
    assert discovery.source_sha256("toy", folder) == first
    (folder / "_shared.py").write_text("a = 2")
    assert discovery.source_sha256("toy", folder) != first
    assert len(first) == 64


def test_source_that_is_not_python(folder: Path) -> None:
    (folder / "toy.py").write_text("def broken(:")
    with pytest.raises(OperatorError, match=r"^kernels/toy\.py: not Python, .*; mend the module$"):
        discovery.source_sha256("toy", folder)


@pytest.mark.parametrize("name", discovery.names())
def test_variants_are_known_without_an_import(name: str) -> None:
    loaded = tuple(variant.name for variant in discovery.load(name).variants)
    assert discovery.variants(name) == loaded


def test_variants_of_other_modules(folder: Path) -> None:
    calls = (
        "VARIANTS = (Variant('b', abs, ''), spec.Variant(name), Variant('a', abs, 'c'), print(1))"
    )
    (folder / "toy_fine.py").write_text(calls)
    assert discovery.variants("toy_fine", folder) == ("b", "a")
    (folder / "toy_all.py").write_text("from kernels.toy_fine import VARIANTS")
    assert discovery.variants("toy_all", folder) == ("b", "a")
    (folder / "toy_some.py").write_text("from kernels.toy_fine import VARIANTS; NAMES = {'a', 'c'}")
    assert discovery.variants("toy_some", folder) == ("a",)


def test_variants_of_a_module_that_is_not_python(folder: Path) -> None:
    (folder / "toy_bad.py").write_text("def broken(:")
    with pytest.raises(OperatorError, match=r"^kernels/toy_bad\.py: not Python"):
        discovery.variants("toy_bad", folder)
