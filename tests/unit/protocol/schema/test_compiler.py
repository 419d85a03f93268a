import subprocess
import sys
import traceback

from protocol.schema.compiler import (
    compile_constructor,
    compile_decoder,
    compile_encoder,
    decoder_source,
    encoder_source,
)
from protocol.schema.describe import import_all
from tests.unit.protocol.schema.toys import Inner, Toy


def test_codecs_are_functions_of_one_version() -> None:
    decode = compile_decoder(Toy, 1)
    encode = compile_encoder(Toy, 1)
    out: list[bytes] = []
    encode(Toy(name="a"), out, [])
    data = b"".join(out)
    assert decode(data, data, 0) == Toy(name="a")


def test_a_constructor_sets_every_field() -> None:
    constructor = compile_constructor(Inner)
    inner = object.__new__(Inner)
    constructor(inner, number=9)
    assert inner == Inner(number=9)


def test_tracebacks_show_the_lines_of_compiled_code() -> None:
    try:
        Toy(inners=[None]).encode(0)  # type: ignore[list-item]
    except AttributeError:
        text = traceback.format_exc()
    assert "Toy-v0-encode.py" in text
    assert ".number))" in text


def test_sources_can_be_read() -> None:
    assert decoder_source(Toy, 2).startswith("def decode(data, view, p):")
    assert encoder_source(Toy, 2).startswith("def encode(m, out, parts):")


def test_importing_every_api_compiles_nothing() -> None:
    program = (
        f"import sys; from {import_all.__module__} import import_all; import_all(); "
        f"sys.exit('{compile_decoder.__module__}' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
