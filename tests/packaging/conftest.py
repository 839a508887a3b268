"""Built once for all packaging tests: the wheel, and the folder of dependencies that fresh environments look into."""

from __future__ import annotations

import sysconfig
import venv
from pathlib import Path

import pytest

from environments import ROOT, FreshEnvironment, pip


@pytest.fixture(scope="session")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of links to everything installed here, except memreader itself."""
    folder = tmp_path_factory.mktemp("dependencies")
    for kind in ("purelib", "platlib"):
        for entry in Path(sysconfig.get_path(kind)).iterdir():
            if "memreader" not in entry.name and entry.suffix != ".pth" and not (folder / entry.name).exists():
                (folder / entry.name).symlink_to(entry)
    return folder


@pytest.fixture
def fresh(tmp_path: Path, dependencies: Path) -> FreshEnvironment:
    """An environment as a user has it, dependencies included, before memreader is installed."""
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    environment = FreshEnvironment(tmp_path / "env")
    (environment.packages / "dependencies.pth").write_text(f"{dependencies}\n", encoding="utf-8")
    return environment


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-build-isolation", "--wheel-dir", folder, ROOT, cwd=folder)
    (made,) = folder.glob("*.whl")
    return made
