"""Lock requirements/*.in into requirements/*.txt: versions and hashes, no index addresses."""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

REQUIREMENTS = Path(__file__).parent.parent / "requirements"
FLAGS = [
    "--quiet",
    "--generate-hashes",
    "--strip-extras",
    "--allow-unsafe",
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-emit-options",
    "--no-emit-trusted-host",
]


def main() -> None:
    """Compile every .in file in an environment of its own, so that none depends on the caller's."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = f"{folder}/bin/python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "pip-tools"], check=True)
        for source in ("runtime", "build", "dev"):
            target = REQUIREMENTS / f"{source}.txt"
            subprocess.run(
                [python, "-m", "piptools", "compile", *FLAGS, "-o", target, f"{source}.in"],
                check=True,
                cwd=REQUIREMENTS,
            )
            head = f"# Locked by 'make lock' from {source}.in.\n"
            target.write_text(head + target.read_text())
            print(f"locked {target.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
