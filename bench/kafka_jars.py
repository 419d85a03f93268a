"""Apache Kafka's jars from Maven Central, as a peer to measure and an oracle for our files."""

import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "4.3.1"
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tidelog</groupId><artifactId>kafka-jars</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
<version>{version}</version></dependency></dependencies></project>
"""


def fetch(folder: Path, version: str = VERSION) -> Path:
    """The folder with the jars, filled by Maven at first use; exits with the remedy without it."""
    folder = folder.resolve()  # Maven takes paths as relative to the project file.
    jars = folder / f"kafka-{version}"
    if jars.is_dir():
        return jars
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            sys.exit(f"'{program}' is not installed; this needs Java 17 or newer and Maven")
    folder.mkdir(parents=True, exist_ok=True)
    pom = folder / "pom.xml"
    pom.write_text(POM.format(version=version))
    print(f"fetching Apache Kafka {version} from Maven Central …", file=sys.stderr)
    unfinished = folder / f"kafka-{version}.part"
    command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
    subprocess.run([*command, f"-DoutputDirectory={unfinished}"], check=True)
    unfinished.rename(jars)
    return jars
