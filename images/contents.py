"""What is in an image: its largest packages. images/build.sh runs this in what it built."""

import os
from importlib.metadata import Distribution, distributions
from pathlib import Path

SHOWN = 8
MEBIBYTE = 2**20


def size_of(paths: list[Path]) -> float:
    """Return mebibytes of files; a package may list some that were left out."""
    return sum(path.stat().st_size for path in paths if path.is_file()) / MEBIBYTE


def files_of(package: Distribution) -> list[Path]:
    """Return the files that a package brought, and what they were compiled to."""
    listed = [Path(str(package.locate_file(file))) for file in package.files or []]
    sources = [path for path in listed if path.suffix == ".py"]
    compiled = [path.with_suffix(".pyc") for path in sources]
    cached = [c for path in sources for c in path.parent.glob(f"__pycache__/{path.stem}.*")]
    return list({*listed, *compiled, *cached})


def main() -> None:
    """Print the user, how much there is in all, and the largest packages."""
    sizes = {
        f"{package.name} {package.version}": size_of(files_of(package))
        for package in distributions()
        if "/opt/gpubench" in str(package.locate_file(""))
    }
    total = size_of(list(Path("/opt/gpubench").rglob("*")))
    print(f"  user {os.getuid()}; {len(sizes)} Python packages; {total:,.0f} MiB in /opt/gpubench:")
    for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:SHOWN]:
        print(f"  {size:8,.1f} MiB  {name}")


main()
