"""The rules of the house: layers, sizes, names, and what an import may do."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "tertulia"
MODULES = sorted(SOURCE.rglob("*.py"))
FLOORS = {
    "cli": 7,
    "web": 6,
    "bot": 5,
    "ranking": 5,
    "stackexchange": 5,
    "formats": 4,
    "retrieval": 4,
    "encoders": 4,
    "log": 4,
    "crawl": 3,
    "corpus": 2,
    "measures": 1,
    "starter": 1,
    "artefact": 1,
    "registry": 1,
    "errors": 0,
    "__init__": 0,
}
LONGEST = 600


def room(module: str) -> str:
    """The room of a dotted module name."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def name_of(path: Path) -> str:
    return ".".join(["tertulia", *path.relative_to(SOURCE).with_suffix("").parts])


def imports(path: Path) -> set[str]:
    """Every module of the project that a file imports, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return {module for module in found if module == "tertulia" or module.startswith("tertulia.")}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_room_imports_only_from_itself_and_from_floors_below(path: Path) -> None:
    own = room(name_of(path))
    for module in imports(path):
        other = room(module)
        assert other == own or FLOORS[other] < FLOORS[own], f"{own} imports {module}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_file_holds_one_concept_and_says_which(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST
    assert ast.get_docstring(ast.parse(text)), "a module says in its docstring what it defines"


def test_importing_everything_starts_nothing() -> None:
    program = (
        "import importlib, logging, sys, threading, warnings\n"
        "warnings.simplefilter('error')\n"
        f"names = {[name_of(path).removesuffix('.__init__') for path in MODULES]!r}\n"
        "for name in names:\n"
        "    if name not in {'tertulia.cli.main'}:\n"
        "        importlib.import_module(name)\n"
        "assert threading.active_count() == 1, threading.enumerate()\n"
        "assert not logging.getLogger().handlers\n"
        "assert not logging.getLogger('tertulia').handlers\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_no_path_of_a_machine_and_no_data_in_the_source() -> None:
    kinds = {".py", ".toml", ".rive", ".txt", ".html", ".js", ".cpp", ".hpp"}
    for path in [p for p in SOURCE.rglob("*") if p.is_file() and p.suffix in kinds]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(work|root|home|tmp)/", text), path


def test_the_documents_that_the_readme_names_are_there() -> None:
    root = SOURCE.parent.parent
    for document in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / link).exists(), f"{document.name} links to {link}"
