# Two revisions compared. Of a commit its own captures are read, from a checkout beside the user's that
# is there while they are; of the working tree what this run measures or replays. Operators whose
# captures are the same files in both are not parsed at all.
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
    return notes


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


rule parse_revision:
    input:
        code=PARSERS,
    output:
        frames=directory(f"results/{{revision}}/{GPU}/frames/{{recorded}}"),
    log:
        f"{RESULTS}/logs/{{recorded}}/parse_revision.{{revision}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{recorded}}/parse_revision.{{revision}}.tsv"
    wildcard_constraints:
        revision="[0-9a-f]{12}",
        recorded="[a-z0-9_]+",
    conda:
        "envs/replay.yaml"
    params:
        captures=recorded_passes,
        source=lambda wildcards: f"results/{wildcards.revision}/source",
    message:
        "parse {wildcards.recorded}: the captures of {wildcards.revision}"
    shell:
        "python -m workflows.revisions run {wildcards.revision} {params.source} --"
        " python -m parsers frames {params.captures} --out {output.frames} 2> {log}"


rule diff:
    input:
        base=lambda wildcards: frames_of(wildcards.base),
        head=lambda wildcards: frames_of(wildcards.head),
        code=[*DIFF, *REPORTS],
        templates=TEMPLATES,
    output:
        markdown=f"{DIFFS}/{{base}}..{{head}}.md",
        html=f"{DIFFS}/{{base}}..{{head}}.html",
        findings=f"{DIFFS}/{{base}}..{{head}}.json",
    log:
        f"{RESULTS}/logs/diff/{{base}}..{{head}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/diff/{{base}}..{{head}}.tsv"
    wildcard_constraints:
        base=REVISION,
        head=REVISION,
    conda:
        "envs/replay.yaml"
    params:
        base=lambda wildcards: frames_folder(wildcards.base),
        head=lambda wildcards: frames_folder(wildcards.head),
        names=lambda wildcards: f"--base-name {wildcards.base} --head-name {wildcards.head}",
        operators=lambda _: compared_operators()[0],
        same=lambda _: compared_operators()[1],
        notes=lambda _: [f"--note={note}" for note in diff_notes()],
        reports=folder_of_output,
    message:
        "diff {wildcards.base}..{wildcards.head}: {output.markdown}"
    shell:
        "python -m reports.diff {params.base} {params.head} {params.names} --report-only"
        " --operators {params.operators} --same {params.same} {params.notes:q}"
        " --out {params.reports} 2> {log}"


rule:
    name:
        "reports/diff"
    input:
        lambda _: f"{DIFFS}/{diff_name()}.md",
        "results/reports/metrics.html",
    message:
        "reports/diff is complete"


rule:
    name:
        "reports/gate"
    input:
        findings=lambda _: f"{DIFFS}/{diff_name()}.json",
        code=[*DIFF, *REPORTS],
    log:
        f"{RESULTS}/logs/diff/gate.log",
    conda:
        "envs/replay.yaml"
    message:
        "gate: is anything worse in {input.findings}?"
    shell:
        "python -m reports.diff.gate {input.findings} 2> {log}"
