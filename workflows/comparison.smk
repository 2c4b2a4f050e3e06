# Which revisions are compared, which operators of them, and where the frames of each are.
import importlib.util
import json

from workflows import revisions

DIFFS = "results/reports/diff"
REVISION = "[0-9a-f]{12}|worktree"


def named(which):
    """Return one of the two revisions of the configuration."""
    text = config[which]
    if text is None:
        raise WorkflowError(
            f"{which}: no revision is named; add one, such as `--config {which}=main`"
        )
    try:
        return revisions.resolve(str(text), Path())
    except revisions.RevisionError as error:
        raise WorkflowError(f"{which}: {error}") from None


@cache
def sides():
    """Return base and head, and the ids of their captures by operator and pass."""
    both = named("base"), named("head")
    try:
        return both, [revisions.captures(one, GPU, Path()) for one in both]
    except revisions.RevisionError as error:
        raise WorkflowError(str(error)) from None


if config["base"] is not None:
    sides()  # what is wrong with a revision is said before anything runs


def diff_name():
    """Return the name of the page of the diff."""
    base, head = sides()[0]
    return f"{base.name}..{head.name}"


def is_live(revision):
    return revision.commit is None and SOURCE == "live"


@cache
def compared_operators():
    """Return the operators to compare, and those of which both have the same captures."""
    (base, head), (before, after) = sides()
    whole = [
        {name for name, passes in known.items() if set(PASSES) <= set(passes)}
        for known in (before, after)
    ]
    wanted = set(config["operators"] or KNOWN_OPERATORS)
    both = sorted(whole[0] & whole[1] & wanted)
    same = [
        name
        for name in both
        if not (is_live(base) or is_live(head))
        and all(before[name][one] == after[name][one] for one in PASSES)
    ]
    return [name for name in both if name not in same], same


def can_compile():
    """Say whether torch and Triton are there, which compile kernels without a GPU."""
    return all(importlib.util.find_spec(name) for name in ("torch", "triton"))


@cache
def rebuilt_operators():
    """Return the operators whose source differs, where kernels can be compiled here."""
    base, head = sides()[0]
    if not can_compile():
        return []
    try:
        both = [set(revisions.operators(one, Path())) for one in (base, head)]
        before, after = (revisions.sources(one, Path()) for one in (base, head))
    except revisions.RevisionError as error:
        raise WorkflowError(str(error)) from None
    wanted = set(config["operators"] or KNOWN_OPERATORS)
    return [
        name
        for name in sorted(both[0] & both[1] & wanted & set(KNOWN_OPERATORS))
        if any(before.get(path) != after.get(path) for path in source_files(name))
    ]


def built_folder(name):
    """Return the folder of the operators' builds of a revision, by this machine's toolchain."""
    return f"{RESULTS}/built" if name == "worktree" else f"results/{name}/built"


def builds_of(name):
    """Return the builds of a revision that are compared."""
    return [
        f"{built_folder(name)}/{operator}/{frame}.parquet"
        for operator in rebuilt_operators()
        for frame in ("builds", "runs")
    ]


def built_folders(wildcards):
    """Return the folders of builds of base and head in turn, an operator after another."""
    return [
        f"{built_folder(name)}/{operator}"
        for operator in rebuilt_operators()
        for name in (wildcards.base, wildcards.head)
    ]


def diff_notes():
    """Return what the page says of operators that are left out, and of a changed working tree."""
    (base, head), (before, after) = sides()
    wanted = set(config["operators"] or [*before, *after])
    notes = [
        f"Only {one.text} has captures of {', '.join(sorted(names & wanted))}."
        for one, names in ((base, set(before) - set(after)), (head, set(after) - set(before)))
        if names & wanted
    ]
    if None in (base.commit, head.commit) and (changes := revisions.dirty(Path())):
        notes.append(f"The working tree differs from its commit: {changes}.")
    if stale := stale_operators():
        notes.append(
            f"The captures of {', '.join(stale)} are older than the source that stands here."
        )
    return notes


def stale_operators():
    """Return the operators of the working tree whose source is not the one that was recorded."""
    if sides()[0][1].commit is not None or SOURCE == "live":
        return []
    runs = {
        name: Path("captures", GPU, name, PASSES[-1], "run.json")
        for names in compared_operators()
        for name in names
    }
    return sorted(
        name
        for name, path in runs.items()
        if json.loads(path.read_text())["run"]["source_sha256"] != source_hash(name)
    )


def frames_folder(name):
    """Return the folder of the operators' frames of a revision."""
    return f"results/{name}/{GPU}/frames"


def frames_of(name):
    """Return the frames of a revision that are compared."""
    if name == "worktree":
        return [
            f"{RESULTS}/frames/{operator}/{frame}.parquet"
            for operator in compared_operators()[0]
            for frame in ALL_FRAMES
        ]
    return [f"{frames_folder(name)}/{operator}" for operator in compared_operators()[0]]


def recorded_passes(wildcards):
    """Return the folders of a commit's captures, in its checkout."""
    folder = f"results/{wildcards.revision}/source/captures/{GPU}/{wildcards.recorded}"
    return [f"{folder}/{name}" for name in PASSES]
