"""Launch descriptions: what they make of a launch, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mxfp4kernels import execution
from mxfp4kernels.emulator import EmulatorError, LaunchError, MemoryFault
from mxfp4kernels.files import REPOSITORY
from mxfp4kernels.isa import AssemblyError
from mxfp4kernels.launch_file import LaunchFileError, Prepared, prepare

FOREIGN = (REPOSITORY / "tests" / "emulator" / "foreign" / "arithmetic.s").read_text()
BUFFERS = [
    {"buffer": "out", "shape": [2], "dtype": "int32", "fill": 0, "save": "out.npy"},
    {"buffer": "a", "npy": "a.npy", "read_only": True},
]
LAUNCH = {"kernel": "tree_sum", "grid": [2], "block": 256, "arguments": BUFFERS}


def described(folder: Path, assembly: str = FOREIGN, **changes: object) -> Prepared:
    np.save(folder / "a.npy", np.arange(512, dtype=np.int32))
    path = folder / "launch.json"
    path.write_text(json.dumps(LAUNCH | changes))
    return prepare(assembly, path)


def test_buffers_are_filled_run_and_saved(tmp_path: Path) -> None:
    launch = described(tmp_path)
    assert (launch.grid, launch.block) == ((2, 1, 1), (256, 1, 1))
    assert launch.run().waves == 8
    assert launch.save() == (tmp_path / "out.npy",)
    assert np.load(tmp_path / "out.npy").tolist() == [sum(range(256)), sum(range(256, 512))]


def test_a_directory_for_what_is_saved_is_made(tmp_path: Path) -> None:
    kept = BUFFERS[0] | {"save": "deep/er/out.npy"}
    launch = described(tmp_path, arguments=[kept, BUFFERS[1]])
    launch.run()
    assert launch.save() == (tmp_path / "deep" / "er" / "out.npy",)
    assert np.load(tmp_path / "deep" / "er" / "out.npy").any()


def test_what_is_no_assembly(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(512, dtype=np.int32))
    description = tmp_path / "launch.json"
    description.write_text(json.dumps(LAUNCH))
    empty, binary = tmp_path / "empty.s", tmp_path / "binary.s"
    empty.write_text("; nothing\n")
    binary.write_bytes(b"\x7fELF\xff\xfe")
    for path, message in (
        (empty, "the text has no kernel: not a single instruction"),
        (binary, "this is no text; give the assembly that the compiler writes"),
        (tmp_path, "this is a directory; name a .s file in it"),
    ):
        with pytest.raises(AssemblyError, match=message):
            execution.foreign(path, description)
    with pytest.raises(FileNotFoundError, match=r"missing\.s"):
        execution.foreign(tmp_path / "missing.s", description)


def test_some_workgroups_only(tmp_path: Path) -> None:
    launch = described(tmp_path, workgroups=[1])
    assert launch.run().workgroups == (1,)
    launch.save()
    assert np.load(tmp_path / "out.npy").tolist() == [0, sum(range(256, 512))]


def test_a_wave_that_executes_more_than_its_limit_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(EmulatorError, match="workgroup 0, wave 0 did not end within 9 instruct"):
        described(tmp_path, instruction_limit=9).run()
    with pytest.raises(EmulatorError, match="did not end within 9 instructions"):
        described(tmp_path, instruction_limit=9).sanitize()


def test_a_buffer_without_fill_is_poison_and_exactly_as_large_as_it_says(tmp_path: Path) -> None:
    short = [{"buffer": "out", "size": 4, "save": "out.npy"}, BUFFERS[1]]
    launch = described(tmp_path, arguments=short)
    assert launch.memory.buffers[0].data.tolist() == [0xA5] * 4
    with pytest.raises(MemoryFault, match="0 bytes past the end of 'out'"):
        launch.run()


def test_a_read_only_buffer_faults_on_a_store(tmp_path: Path) -> None:
    swapped = [{"buffer": "out", "size": 8, "read_only": True}, BUFFERS[1]]
    with pytest.raises(MemoryFault, match="read-only buffer 'out'"):
        described(tmp_path, arguments=swapped).run()


def test_numbers_and_bytes_are_packed_by_the_size_of_the_argument(tmp_path: Path) -> None:
    plain = [{"value": -2}, {"bytes": "01 02 03 04 05 06 07 08"}]
    launch = described(tmp_path, arguments=plain)
    assert launch.kernarg[:16].hex(" ") == "fe ff ff ff ff ff ff ff 01 02 03 04 05 06 07 08"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": "mona_lisa"}, "kernel 'mona_lisa' is not in the assembly; it has integer_div"),
        ({"kernel": None}, "has 1. kernels; choose one with kernel: NAME from integer_div"),
        ({"arguments": [BUFFERS[0], BUFFERS[0] | {"save": "b.npy"}]}, "argument 1: an earlier buf"),
        (
            {"arguments": [BUFFERS[0], BUFFERS[0] | {"buffer": "b"}]},
            "argument 1: save: .*out.npy is taken by an earlier buffer; name another file",
        ),
        ({"arguments": [BUFFERS[0] | {"save": "."}]}, "argument 0: save: .* is a directory; name"),
        (
            {"arguments": [BUFFERS[0] | {"save": "a.npy/out.npy"}]},
            "save: .*out.npy cannot be written, as .*a.npy is no directory or closed to you; name",
        ),
        ({"grid": []}, "grid must be one to three sizes, got \\[\\]"),
        ({"grid": "four"}, "grid must be one to three sizes, got 'four'"),
        ({"blok": 1}, "unknown key blok; choose from kernel, grid, block"),
        ({"arguments": [{"buffer": "out"}]}, "argument 0: buffer 'out' needs one of npy, shape"),
        ({"arguments": [{"buffer": "o", "size": 4, "npy": "a.npy"}]}, "needs one of npy, shape"),
        ({"arguments": [{"buffer": "o", "size": 4, "fil": 0}]}, "unknown key fil"),
        ({"arguments": [{"value": "many"}]}, "argument 0: value must be a number, got 'many'"),
        ({"arguments": [{"pointer": 4}]}, "argument 0: needs buffer, value or bytes"),
        ({"arguments": [{"bytes": "0g"}]}, "argument 0: non-hexadecimal"),
        ({"arguments": 7}, "launch.json: arguments must be a list, got 7"),
        ({"arguments": [7]}, "argument 0: needs buffer, value or bytes, got 7"),
        ({"arguments": [{"buffer": "o", "size": 15, "dtype": "int32"}]}, "size 15 is not a multip"),
        ({"arguments": [{"buffer": "o", "size": -4}]}, "size must be a whole number of at least 0"),
        ({"workgroups": 3}, "launch.json: workgroups must be a list, got 3"),
        ({"dynamic_lds": -8}, "launch.json: dynamic_lds must be a whole number of at least 0"),
        ({"instruction_limit": 0}, "instruction_limit must be a whole number of at least 1, got 0"),
        ({"dynamic_lds": "x"}, "launch.json: dynamic_lds must be a whole number"),
        ({"grid": [4.7]}, "launch.json: grid must be a whole number of at least 1, got 4.7"),
        ({"kernel": ["tree_sum"]}, "launch.json: kernel must be a name"),
        ({"arguments": [BUFFERS[0] | {"dtype": "int33"}]}, "argument 0: data type 'int33'"),
        ({"arguments": [BUFFERS[0] | {"dtype": "O"}]}, "dtype must be an integer or a float type"),
        *(
            (
                {"arguments": [BUFFERS[0] | {"fill": fill}]},
                f"argument 0: fill must be a .*number.*, got '?{fill}'?",
            )
            for fill in (9999999999, 1.7, "7", True)
        ),
        (
            {"arguments": [BUFFERS[0] | {"dtype": "float16", "fill": 1e9}]},
            "argument 0: fill must be at most 65504.0 for float16, got 1000000000.0",
        ),
        ({"arguments": [{"buffer": "o", "size": 1 << 80}]}, "a buffer has at most 17179869184 byt"),
        ({"arguments": [{"buffer": "o", "npy": "a.npy", "fill": 1}]}, "fill says nothing beside n"),
        ({"arguments": [{"buffer": "o", "npy": "a.npy", "dtype": "int8"}]}, "dtype says nothing"),
        ({"arguments": [{"buffer": "o", "npy": 7}]}, "npy must be the name of a file, got 7"),
        ({"arguments": [{"buffer": "o", "npy": "b.npz"}]}, "b.npz is an archive of arrays; save"),
        ({"arguments": [BUFFERS[0] | {"save": 7}]}, "save must be the name of a file, got 7"),
        ({"arguments": [BUFFERS[0] | {"read_only": "no"}]}, "read_only must be true or false, got"),
        ({"arguments": [BUFFERS[0] | {"save": "./launch.json"}, BUFFERS[1]]}, "this launch descri"),
        ({"arguments": [BUFFERS[0] | {"save": "a.npy"}, BUFFERS[1]]}, "a.npy is read by the laun"),
        (
            {"arguments": [BUFFERS[0], BUFFERS[0] | {"buffer": "b", "save": "x/../out.npy"}]},
            "argument 1: save: .*out.npy is taken by an earlier buffer",
        ),
        ({"workgroups": []}, "launch.json: workgroups must name at least one; leave it out"),
    ],
)
def test_refusals_name_the_place(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    np.savez(tmp_path / "b.npz", one=np.zeros(4))
    with pytest.raises(LaunchFileError, match=message):
        described(tmp_path, **changes)


def test_a_key_comes_once(tmp_path: Path) -> None:
    path = tmp_path / "launch.yaml"
    path.write_text("grid: [1]\nblock: [64]\ngrid: [2]\n")
    with pytest.raises(LaunchFileError, match=r"launch\.yaml: line 3: key grid comes twice"):
        prepare(FOREIGN, path)
    path.write_text("arguments:\n  - {buffer: a, size: 4, size: 8}\n")
    with pytest.raises(LaunchFileError, match="line 2: key size comes twice"):
        prepare(FOREIGN, path)


def test_the_assembly_is_not_written_over(tmp_path: Path) -> None:
    described(tmp_path, arguments=[BUFFERS[0] | {"save": "k.s"}, BUFFERS[1]])
    (tmp_path / "k.s").write_text(FOREIGN)
    with pytest.raises(LaunchFileError, match=r"k\.s is the assembly; name another file"):
        execution.foreign(tmp_path / "k.s", tmp_path / "launch.json")


def test_a_grid_that_no_one_could_run(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="has 2000000000 workgroups, and at most 1048576 can"):
        described(tmp_path, grid=[2000000000]).run()
    with pytest.raises(LaunchError, match="must be at most 4294967295 along each axis"):
        described(tmp_path, grid=[99999999999]).run()
    some = described(tmp_path, grid=[2000000000], workgroups=[1])
    assert some.run().workgroups == (1,)


def test_too_few_arguments_are_the_emulators_to_refuse(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="takes 2 arguments, got 1"):
        described(tmp_path, arguments=BUFFERS[:1])


def test_text_that_is_no_description(tmp_path: Path) -> None:
    path = tmp_path / "launch.yaml"
    for text, message in (("- 1", "must be a mapping"), ("{", "neither YAML nor JSON")):
        path.write_text(text)
        with pytest.raises(LaunchFileError, match=message):
            prepare(FOREIGN, path)


def test_a_read_of_what_nothing_has_written_is_listed_and_not_clean(tmp_path: Path) -> None:
    text = FOREIGN[FOREIGN.index("tree_sum:") :]
    line = next(one for one in text.splitlines() if "ds_write_b32" in one)
    broken = FOREIGN.replace(text, text.replace(line, "", 1))
    report = described(tmp_path, assembly=broken).sanitize()
    rows = execution.hazard_rows(report)
    assert not report.clean
    assert {row["kind"] for row in rows} == {"undefined"}
    assert rows[0]["second"].startswith("ds_read")
    assert rows[0]["where"].endswith("wave 0: LDS")
    assert execution.verdict(report).startswith(f"{len(rows)} reads of what nothing has written")
