"""Evidence on disk: whatever is changed in a folder, `verify` says so and names the place."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh import bootstrap
from arh.canonical import digest, encode
from arh.errors import AuthoringError
from arh.harness.authoring.plan import plan_runs
from arh.harness.evidence import evidence_store
from arh.harness.evidence.evidence_store import EvidenceFolder, EvidenceWriter, read_back, verify
from arh.harness.evidence.recorder import CHAIN_FIELD, chained, genesis, keep_all, unchained
from arh.harness.pipeline import judge_folder
from arh.harness.running.composition import compose
from arh.harness.running.runner import Bench, execute
from arh.records.control.plan import RunPlan
from arh.testing.workbench import Workbench

IDS = ("golden-billing-incident-001", "negative-no-unsolicited-credit-001")
PART = "part-0000.jsonl"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs that nobody touched."""
    bench = Workbench.of()
    folder = tmp_path_factory.mktemp("evidence")
    plan = plan_runs([bench.located(identity) for identity in IDS], seed=1)
    writer = EvidenceWriter(folder, plan, redact=keep_all)
    suite = bench.suite
    composer = bootstrap.Composer(suite.configuration)
    shared = Bench(composer, suite.pack, plan.digest, redact=keep_all)
    for run in plan.runs:
        writer.add(execute(compose(run, suite.pack, suite.catalogue), shared))
    writer.close({"arh": "test"})
    return folder


@contextmanager
def copy_of(folder: Path) -> Iterator[Path]:
    """A copy to tamper with."""
    with TemporaryDirectory() as temporary:
        copied = Path(temporary, "evidence")
        shutil.copytree(folder, copied)
        yield copied


def lines_of(folder: Path) -> list[bytes]:
    """The lines of the one part."""
    return (folder / PART).read_bytes().splitlines()


def write_lines(folder: Path, lines: list[bytes]) -> None:
    """Put other lines in their place."""
    (folder / PART).write_bytes(b"\n".join(lines) + b"\n")


def found_in(folder: Path) -> tuple[str, ...]:
    """What is wrong with a folder; that its manifest cannot be read is one more way to say it."""
    try:
        return verify(folder)
    except AuthoringError as error:
        return tuple(map(str, error.problems))


def rewrite_manifest(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest and make it consistent with itself again, as a careful forger would."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_bytes())
    del manifest["digest"]
    change(manifest)
    path.write_bytes(encode({**manifest, "digest": digest(manifest)}) + b"\n")


def test_an_untouched_folder_is_whole(whole: Path) -> None:
    """Nothing is found where nothing was changed."""
    assert verify(whole) == ()


@given(data=st.data())
def test_every_flipped_byte_of_a_line_is_found_and_its_entry_named(
    whole: Path, data: st.DataObject
) -> None:
    """Of a flipped byte in any line of evidence the first bad entry is the line that holds it."""
    lines = lines_of(whole)
    number = data.draw(st.integers(0, len(lines) - 1), label="line")
    at = data.draw(st.integers(0, len(lines[number]) - 1), label="byte")
    flip = data.draw(st.integers(1, 255), label="flip")
    changed = bytearray(lines[number])
    changed[at] ^= flip

    with copy_of(whole) as folder:
        if changed[at] == ord("\n"):
            return
        write_lines(folder, [*lines[:number], bytes(changed), *lines[number + 1 :]])
        problems = verify(folder)

    assert problems[0] == f"{PART}: the bytes differ from the manifest's digest"
    assert any(p.startswith(f"{PART}:{number + 1}: ") for p in problems)


@given(data=st.data())
def test_every_flipped_byte_of_any_file_is_found(whole: Path, data: st.DataObject) -> None:
    """No byte of a folder can change unnoticed, the manifest's own included."""
    files = sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file())
    name = data.draw(st.sampled_from(files), label="file")
    content = bytearray(whole.joinpath(name).read_bytes())
    at = data.draw(st.integers(0, len(content) - 1), label="byte")
    content[at] ^= data.draw(st.integers(1, 255), label="flip")

    with copy_of(whole) as folder:
        folder.joinpath(name).write_bytes(bytes(content))
        problems = found_in(folder)

    assert problems != ()


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("tool_call", "reason", []),
        ("tool_call", "arguments", 7),
        ("state_changed", "changes", "x"),
    ],
)
def test_a_forged_type_never_keeps_a_folder_from_being_judged(
    whole: Path, kind: str, field: str, value: object
) -> None:
    """A run whose fields no run writes like that fails nobody else, and does not pass itself."""
    suite = Workbench.of().suite
    events = [json.loads(each) for each in lines_of(whole)]
    next(event for event in events if event["kind"] == kind)[field] = value

    with copy_of(whole) as folder:
        write_lines(folder, [encode(event) for event in events])
        first, second = judge_folder(EvidenceFolder(folder), suite.evaluators, suite.pack)

    assert (first.scenario_id, second.scenario_id) == IDS
    assert (first.status, second.status) == ("error", "pass")


EDITS: dict[str, tuple[Callable[[list[bytes]], list[bytes]], int]] = {
    "deleted": (lambda lines: [*lines[:4], *lines[5:]], 5),
    "inserted": (lambda lines: [*lines[:4], lines[1], *lines[4:]], 5),
    "duplicated": (lambda lines: [*lines[:5], lines[4], *lines[5:]], 6),
    "reordered": (lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]], 5),
    "spliced": (lambda lines: [*lines[:4], lines[-4], *lines[5:]], 5),
    "emptied": (lambda lines: [*lines[:4], b"", *lines[5:]], 5),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_the_lines_is_found_at_its_place(whole: Path, edit: str) -> None:
    """The first line that does not follow from the one before is named, whatever the edit."""
    change, expected = EDITS[edit]

    with copy_of(whole) as folder:
        write_lines(folder, change(lines_of(folder)))
        problems = verify(folder)

    runs = [p for p in problems if p.startswith(f"{PART}:") and "run run-" in p]
    assert runs[0].startswith(f"{PART}:{expected}: ")
    assert runs[0].endswith("does not follow from the one before")


@given(cut=st.integers(1, 4000))
def test_a_truncated_tail_is_found(whole: Path, cut: int) -> None:
    """However little of the last run is missing, its last entry is not the manifest's."""
    with copy_of(whole) as folder:
        content = (folder / PART).read_bytes()
        (folder / PART).write_bytes(content[:-cut])
        problems = verify(folder)

    assert problems[0] == f"{PART}: the bytes differ from the manifest's digest"
    assert len(problems) > 1 or cut == 1


def test_a_run_rewritten_with_a_chain_of_its_own_is_found(whole: Path) -> None:
    """A chain that was computed anew is consistent, and ends elsewhere than the manifest says."""
    manifest = json.loads((whole / "manifest.json").read_bytes())
    first = manifest["runs"][0]
    lines = lines_of(whole)
    value, forged = genesis(first["run"], manifest["plan"]), []
    for line in lines[: first["lines"]]:
        body = unchained(line)[0].replace(b"A-1007", b"A-1008")
        value = chained(value, body)
        forged.append(body[:-1] + CHAIN_FIELD + value.encode() + b'"}')

    with copy_of(whole) as folder:
        write_lines(folder, [*forged, *lines[first["lines"] :]])
        problems = verify(folder)

    assert f"{PART}: run {first['run']}: the last entry is not the one in the manifest" in problems


def edited_state(folder: Path) -> str:
    """A seeded balance is another one now."""
    (state,) = (folder / "states").glob("*.json")
    state.write_bytes(state.read_bytes().replace(b"us-west", b"us-east"))
    return f"states/{state.name}: missing or altered"


def missing_state(folder: Path) -> str:
    """A state was deleted."""
    (state,) = (folder / "states").glob("*.json")
    state.unlink()
    return f"states/{state.name}: missing or altered"


def edited_scenario(folder: Path) -> str:
    """The scenario that was judged demands less now."""
    path = folder / "scenarios.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"trajectory":"pass"', b'"response":"pass"'))
    return "scenarios.jsonl: missing or altered"


def missing_scenarios(folder: Path) -> str:
    """The scenarios were deleted."""
    (folder / "scenarios.jsonl").unlink()
    return "scenarios.jsonl: missing or altered"


def missing_part(folder: Path) -> str:
    """The part was deleted."""
    (folder / PART).unlink()
    return f"{PART}: missing"


def extra_part(folder: Path) -> str:
    """A part lies there that nobody wrote."""
    (folder / "part-0001.jsonl").write_bytes(b"{}\n")
    return "part-0001.jsonl: not in the manifest"


def run_left_out(folder: Path) -> str:
    """The manifest lists one run less than was planned."""
    rewrite_manifest(folder, lambda manifest: manifest["runs"].pop())
    return "manifest.json: 2 runs planned, 1 written"


def run_listed_twice(folder: Path) -> str:
    """The manifest lists one run in the place of two."""
    rewrite_manifest(folder, lambda manifest: manifest.update(runs=[manifest["runs"][0]] * 2))
    return "manifest.json: a run is listed twice"


@pytest.mark.parametrize(
    "tamper",
    [
        edited_state,
        missing_state,
        edited_scenario,
        missing_scenarios,
        missing_part,
        extra_part,
        run_left_out,
        run_listed_twice,
    ],
)
def test_a_tampered_file_is_named(whole: Path, tamper: Callable[[Path], str]) -> None:
    """Whatever file of the folder was edited, added or removed is named."""
    with copy_of(whole) as folder:
        expected = tamper(folder)
        problems = verify(folder)

    assert expected in problems


def invented_state(folder: Path) -> str:
    """A state that no run began with."""
    (folder / "states" / f"{'a' * 64}.json").write_text("{}")
    return f"states/{'a' * 64}.json: not in the manifest"


def other_file(folder: Path) -> str:
    """A file that has no place in evidence."""
    (folder / "extra.jsonl").write_text("{}")
    return "extra.jsonl: not in the manifest"


def hidden_file(folder: Path) -> str:
    """A file that a listing may leave out."""
    (folder / "states" / ".hidden").write_text("")
    return "states/.hidden: not in the manifest"


def other_folder(folder: Path) -> str:
    """A folder, whatever lies in it."""
    (folder / "more").mkdir()
    (folder / "more" / "part-0000.jsonl").write_text("{}")
    return "more: not in the manifest"


def forging_name(folder: Path) -> str:
    """A file whose name would write a line of its own."""
    (folder / "x\nwhole: 2 runs").write_text("")
    return r"x\nwhole: 2 runs: not in the manifest"


def linked_part(folder: Path) -> str:
    """The very bytes of a part, but somewhere else."""
    (folder / PART).rename(folder.parent / PART)
    (folder / PART).symlink_to(folder.parent / PART)
    return f"{PART}: a link, and no file of this folder"


def linked_states(folder: Path) -> str:
    """The very states, but somewhere else."""
    (folder / "states").rename(folder.parent / "states")
    (folder / "states").symlink_to(folder.parent / "states")
    return "states: a link, and no file of this folder"


def dangling_link(folder: Path) -> str:
    """A link that leads nowhere yet."""
    (folder / "later").symlink_to(folder / "nothing")
    return "later: a link, and no file of this folder"


@pytest.mark.parametrize(
    "add",
    [
        extra_part,
        invented_state,
        other_file,
        hidden_file,
        other_folder,
        forging_name,
        linked_part,
        linked_states,
        dangling_link,
    ],
)
def test_a_stranger_is_the_one_thing_that_is_wrong(whole: Path, add: Callable[[Path], str]) -> None:
    """Whatever the manifest does not list is named, and no more than that is found."""
    with copy_of(whole) as folder:
        expected = add(folder)
        problems = verify(folder)

    assert problems == (expected,)


def test_a_folder_that_is_written_anew_has_no_leftovers(whole: Path) -> None:
    """What an interrupted writer of ours left is cleared, and what is not ours is kept and told."""
    plan = RunPlan((), (), "plan", 1)
    with copy_of(whole) as folder:
        (folder / ".manifest.json.new").write_text("")
        (folder / "notes.txt").write_text("mine")
        EvidenceWriter(folder, plan, redact=keep_all).close({})

        assert verify(folder) == ("notes.txt: not in the manifest",)


def test_an_unfinished_folder_is_refused(whole: Path) -> None:
    """Without a manifest there is no evidence, however many lines lie there."""
    with copy_of(whole) as folder:
        (folder / "manifest.json").unlink()

        with pytest.raises(AuthoringError, match="no manifest"):
            verify(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(runs=None),
        lambda m: m["runs"][0].pop("lines"),
        lambda m: m["runs"][0].update(lines=-1),
        lambda m: m["runs"][0].update(lines="9"),
        lambda m: m["runs"][0].update(part="../part-0000.jsonl"),
        lambda m: m["parts"][0].update(name="/etc/passwd"),
        lambda m: m.pop("plan"),
        lambda m: m.update(states=[]),
        lambda m: m.update(schema_version="9.0"),
    ],
    ids=range(9),
)
def test_a_manifest_of_another_shape_is_refused(
    whole: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    """What is read later is checked first: nothing crashes, and no path leaves the folder."""
    with copy_of(whole) as folder:
        rewrite_manifest(folder, change)

        with pytest.raises(AuthoringError, match=r"manifest|schema"):
            verify(folder)


def test_a_manifest_that_promises_too_many_lines_is_found(whole: Path) -> None:
    """A number of lines is compared with what is there, and reserves nothing."""
    with copy_of(whole) as folder:
        rewrite_manifest(folder, lambda m: m["runs"][1].update(lines=2**53 - 1))
        problems = verify(folder)

    assert len(problems) == 1
    assert problems[0].endswith("the last entry is not the one in the manifest")


GONE: dict[str, tuple[Callable[[Path], object], int]] = {
    "nothing": (lambda _folder: None, 2),
    "the part": (lambda folder: (folder / PART).unlink(), 0),
    "a line more": (
        lambda folder: (folder / PART).write_bytes((folder / PART).read_bytes() + b"{}\n"),
        0,
    ),
    "the last line": (
        lambda folder: (folder / PART).write_bytes(b"\n".join(lines_of(folder)[:-1]) + b"\n"),
        0,
    ),
    "the states": (lambda folder: shutil.rmtree(folder / "states"), 0),
    "the scenarios": (lambda folder: (folder / "scenarios.jsonl").unlink(), 0),
    "the manifest": (lambda folder: (folder / "manifest.json").unlink(), 0),
    "all of it": (shutil.rmtree, 0),
    "a stranger": (lambda folder: (folder / "notes.txt").write_text("mine"), 2),
}


@pytest.mark.parametrize("what", GONE)
def test_only_runs_that_can_be_read_again_are_on_record(whole: Path, what: str) -> None:
    """Whatever was written, what counts is what lies there when it is read."""
    change, intact = GONE[what]
    written = json.loads((whole / "manifest.json").read_bytes())["digest"]
    with copy_of(whole) as folder:
        change(folder)
        found = read_back(folder, written)
        Path(folder).mkdir(exist_ok=True)

    assert (found.intact, found.problems == ()) == (intact, what == "nothing")


def test_another_folder_of_ours_is_not_the_one_that_was_written(whole: Path) -> None:
    """A whole folder with another manifest is no record of this run."""
    assert read_back(whole, "0" * 64).intact == 0


def test_evidence_that_cannot_be_written_ends_no_suite(
    whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer says so, goes on without writing, and leaves no manifest."""
    bench = Workbench.of()
    plan = plan_runs([bench.located(IDS[0])], seed=1)
    output = bench.run(IDS[0]).output
    with copy_of(whole) as folder:
        writer = EvidenceWriter(folder, plan, redact=keep_all)
        (folder / PART).mkdir()
        writer.add(output)
        writer.add(output)
        monkeypatch.setattr(evidence_store, "replace_file", _full)
        digest_written = writer.close({})

        assert (writer.written, digest_written, len(writer.problems)) == (0, "", 2)
        assert read_back(folder, digest_written).intact == 0


def _full(_path: Path, _content: bytes) -> None:
    raise OSError(28, "full")
