"""Make a checkout usable: its packages importable and `tidelog` a command of this environment.

An installed wheel holds the packages as `tidelog.*` and brings its own command (setup.py); in a
checkout the folders are the packages, so a .pth file puts the checkout behind site-packages.
Behind, so that no folder of ours can hide somebody's module. The command runs with -P, so that
none of the working directory's modules can hide ours.
"""

import sys
import sysconfig
from pathlib import Path

COMMAND = """#!{python} -P
import sys
from cli.main import main
sys.exit(main())
"""


def main() -> None:
    """Write the .pth file and the command."""
    checkout = Path(__file__).resolve().parent.parent
    (Path(sysconfig.get_path("purelib")) / "tidelog_checkout.pth").write_text(f"{checkout}\n")
    command = Path(sysconfig.get_path("scripts")) / "tidelog"
    command.write_text(COMMAND.format(python=sys.executable))
    command.chmod(0o755)


if __name__ == "__main__":
    main()
