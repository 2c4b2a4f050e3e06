# Which revisions are compared, which operators of them, and where the frames of each are.
import importlib.util
import json

from workflows import revisions

DIFFS = "results/reports/diff"
REVISION = "[0-9a-f]{12}|worktree"
NOISE = Path(f"results/noise/{GPU}/noise.json")


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


def asked(question, *arguments):
    """Ask about a revision; what cannot be answered is one line."""
    try:
        return question(*arguments, Path())
    except revisions.RevisionError as error:
        raise WorkflowError(str(error)) from None


@cache
def sides():
    """Return base and head."""
    both = named("base"), named("head")
    if SOURCE == "live":
        for one in both:
            asked(revisions.require_turns, one)
    return both


@cache
def recorded():
    """Return the ids of the captures of base and head, by operator and pass."""
    return [asked(revisions.captures, one, GPU) for one in sides()]


if config["base"] is not None:
    # What is wrong with a revision is said before anything runs.
    sides() if SOURCE == "live" else recorded()


def diff_name():
    """Return the name of the page of the diff."""
    base, head = sides()
    return f"{base.name}..{head.name}"


@cache
def compared_operators():
    """Return the operators to compare, and those of which both have the same.

    Live, the same source; in replay, the same captures.
    """
    changed = changed_operators() if SOURCE == "live" else rerecorded_operators()
    return changed, [name for name in common_operators() if name not in changed]


def can_compile():
    """Say whether torch and Triton are there, which compile kernels without a GPU."""
    return all(importlib.util.find_spec(name) for name in ("torch", "triton"))


@cache
def common_operators():
    """Return the operators that both revisions have and that are asked for."""
    if SOURCE == "live":
        both = [set(asked(revisions.operators, one)) for one in sides()]
    else:
        both = [
            {name for name, passes in known.items() if set(PASSES) <= set(passes)}
            for known in recorded()
        ]
    return sorted(both[0] & both[1] & set(config["operators"] or KNOWN_OPERATORS))


def rerecorded_operators():
    """Return the operators whose captures differ."""
    before, after = recorded()
    return [
        name
        for name in common_operators()
        if any(before[name][one] != after[name][one] for one in PASSES)
    ]


@cache
def changed_operators():
    """Return the operators whose source differs."""
    both = [set(asked(revisions.operators, one)) for one in sides()]
    before, after = (asked(revisions.sources, one) for one in sides())
    wanted = set(config["operators"] or KNOWN_OPERATORS)
    return [
        name
        for name in sorted(both[0] & both[1] & wanted & set(KNOWN_OPERATORS))
        if any(before.get(path) != after.get(path) for path in source_files(name))
    ]


@cache
def rebuilt_operators():
    """Return the operators to compile in both: of those measured live, builds are compared anyway."""
    return changed_operators() if SOURCE == "replay" and can_compile() else []


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
    """Return what the page says of what is left out, and of how it was measured."""
    base, head = sides()
    known = [
        set(asked(revisions.operators, one) if SOURCE == "live" else recorded()[number])
        for number, one in enumerate(sides())
    ]
    wanted = set(config["operators"] or known[0] | known[1])
    what = "" if SOURCE == "live" else "captures of "
    notes = [
        f"Only {one.text} has {what}{', '.join(sorted(names & wanted))}."
        for one, names in ((base, known[0] - known[1]), (head, known[1] - known[0]))
        if names & wanted
    ]
    if None in (base.commit, head.commit) and (changes := revisions.dirty(Path())):
        notes.append(f"The working tree differs from its commit: {changes}.")
    if stale := stale_operators():
        notes.append(
            f"The captures of {', '.join(stale)} are older than the source that stands here."
        )
    if SOURCE == "live":
        notes.append("Both were measured in this run, in alternating rounds, each by its harness.")
        if files := asked(revisions.harness_changes, base, head):
            notes.append(f"The harness itself differs: {', '.join(files)}.")
    return notes


def stale_operators():
    """Return the operators of the working tree whose source is not the one that was recorded."""
    if sides()[1].commit is not None or SOURCE == "live":
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


def frames_folder(wildcards, side):
    """Return the folder of the operators' frames of base or head."""
    if SOURCE == "live":
        return f"results/{wildcards.base}..{wildcards.head}/{GPU}/frames/{side}"
    name = wildcards.base if side == "base" else wildcards.head
    return f"results/{name}/{GPU}/frames"


def frames_of(wildcards, side):
    """Return the frames of base or head that are compared."""
    folder, names = frames_folder(wildcards, side), compared_operators()[0]
    if SOURCE == "replay" and (wildcards.base if side == "base" else wildcards.head) == "worktree":
        return [f"{folder}/{name}/{frame}.parquet" for name in names for frame in ALL_FRAMES]
    return [f"{folder}/{name}" for name in names]


def recorded_passes(wildcards):
    """Return the folders of a commit's captures, in its checkout."""
    folder = f"results/{wildcards.revision}/source/captures/{GPU}/{wildcards.recorded}"
    return [f"{folder}/{name}" for name in PASSES]


def measured_pass(name, operator, one_pass):
    """Return the folder of a pass over an operator that is measured in a revision."""
    if name == "worktree":
        return f"{RESULTS}/captures/{operator}/{one_pass}"
    gpu = "" if one_pass == "build" else f"{GPU}/"
    return f"results/{name}/{gpu}captures/{operator}/{one_pass}"


def measured_checks(wildcards):
    """Return the checks of base and head."""
    return [
        measured_pass(name, wildcards.recorded, "check")
        for name in (wildcards.base, wildcards.head)
    ]


def measured_sources(wildcards):
    """Return the files that the working tree's side depends on, where it is one."""
    if "worktree" not in (wildcards.base, wildcards.head):
        return []
    return [*source_files(wildcards.recorded), *HARNESS]


def measured_passes(wildcards):
    """Return the passes of a side that are not measured in turn with the other."""
    name = wildcards.base if wildcards.side == "base" else wildcards.head
    return [measured_pass(name, wildcards.recorded, one) for one in ("check", "build", "ncu")]


def noise_files(_=None):
    """Return the file of this machine's noise, where it was measured and times alternate."""
    return [str(NOISE)] if SOURCE == "live" and NOISE.is_file() else []


def noise_option(_=None):
    """Return what says by which noise changes are judged."""
    return (noise_files() or ["alternating" if SOURCE == "live" else "sessions"])[0]


def noise_captures(wildcards):
    """Return what processes of one source wrote, or the files of what is recorded of them."""
    folder = Path(CAPTURES, wildcards.operator, "noise")
    return [str(folder)] if SOURCE == "live" else sorted(map(str, folder.rglob("*.*")))


def alike_frames(_):
    """Return the frames of the processes of every operator that were measured or recorded."""
    names = [
        name for name in OPERATORS if SOURCE == "live" or Path(CAPTURES, name, "noise").is_dir()
    ]
    if not names:
        raise WorkflowError(
            f"reports/noise: captures/{GPU} has none of these operators; measure on a GPU"
        )
    return expand(f"results/noise/{GPU}/frames/{{operator}}", operator=names)
