"""`make wheel`: install the wheel into a clean environment and use it as a stranger would.

Checks the names it adds to site-packages, the compiled kernel, the command with the broker behind
it, a record through a real client, a helper process, and the pytest plug-in found by its entry
point. Run with the checkout out of sight: from a temporary directory.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXPECTED = {"tidelog", "pytest_tidelog"}
USER_TEST = """
from confluent_kafka import Consumer, Producer, TopicPartition

def test_a_record_goes_round(tidelog, tidelog_topic):
    import tidelog.protocol.records.kernel as kernel
    print("kernel compiled:", kernel.COMPILED)
    producer = Producer({"bootstrap.servers": tidelog.bootstrap_servers})
    producer.produce(tidelog_topic, b"hello")
    assert producer.flush(10) == 0
    tidelog.restart()
    consumer = Consumer({"bootstrap.servers": tidelog.bootstrap_servers, "group.id": "g",
                         "enable.auto.commit": False})
    consumer.assign([TopicPartition(tidelog_topic, 0, 0)])
    assert consumer.poll(10).value() == b"hello"
    consumer.close()

def test_a_helper_process_finds_the_code():
    from tidelog.protocol.crc32c import crc32c
    from tidelog.runtime.helper_process import HelperProcess
    helper = HelperProcess("smoke")
    assert helper.call(crc32c, b"123456789") == 0xE3069283
    helper.close()
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command; its output, printed when it fails."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COVERAGE"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{command}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Install and try."""
    (wheel,) = sorted((ROOT / sys.argv[1]).glob("tidelog-*.whl"))[-1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / "bin" / "python"
        scheme = sysconfig.get_paths(vars={"base": str(folder / "venv")})
        install: list[str | Path] = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        run(*install, "--require-hashes", "-r", ROOT / "requirements/dev.txt", cwd=folder)
        site = Path(scheme["purelib"])
        before = {path.name for path in site.iterdir()}
        run(*install, "--no-deps", wheel, cwd=folder)
        added = {path.name for path in site.iterdir()} - before
        names = {name for name in added if not name.endswith(".dist-info")}
        assert names == EXPECTED, f"the wheel adds {sorted(names)} to site-packages"
        print(f"wheel: {wheel.name} adds {', '.join(sorted(names))}")
        print(run(folder / "venv" / "bin" / "tidelog", "--version", cwd=folder).strip())
        (folder / "test_user.py").write_text(USER_TEST)
        print(run(python, "-m", "pytest", "-q", "-s", "-n", "0", "test_user.py", cwd=folder))


if __name__ == "__main__":
    main()
