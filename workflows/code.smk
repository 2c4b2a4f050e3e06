# Code of two revisions side by side, on demand: PTX and SASS of their builds, and what they launch.
rule recorded_build:
    output:
        capture=directory(f"results/{{revision}}/{GPU}/recorded/{{recorded}}/build"),
    log:
        f"{RESULTS}/logs/{{recorded}}/recorded_build.{{revision}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{recorded}}/recorded_build.{{revision}}.tsv"
    wildcard_constraints:
        revision="[0-9a-f]{12}",
        recorded="[a-z0-9_]+",
    conda:
        "envs/replay.yaml"
    params:
        source=lambda wildcards: f"results/{wildcards.revision}/source",
    message:
        "copy {wildcards.recorded}: the build that {wildcards.revision} recorded"
    shell:
        "python -m workflows.revisions run {wildcards.revision} {params.source} --"
        f" cp -r {{params.source}}/captures/{GPU}/{{wildcards.recorded}}/build"
        " {output.capture} 2> {log}"


rule code:
    input:
        captures=code_captures,
        frames=launch_frames,
        code=[*DIFF, *REPORTS],
        templates=TEMPLATES,
    output:
        diffs=directory(f"{DIFFS}/{{base}}..{{head}}.code"),
        markdown=f"{DIFFS}/{{base}}..{{head}}.code.md",
        html=f"{DIFFS}/{{base}}..{{head}}.code.html",
    log:
        f"{RESULTS}/logs/diff/{{base}}..{{head}}.code.log",
    benchmark:
        f"{RESULTS}/benchmarks/diff/{{base}}..{{head}}.code.tsv"
    wildcard_constraints:
        base=REVISION,
        head=REVISION,
    conda:
        "envs/replay.yaml"
    params:
        captures=code_captures,
        frames=launch_folders,
        names=lambda wildcards: f"--base-name {wildcards.base} --head-name {wildcards.head}",
        notes=lambda _: [f"--note={note}" for note in code_notes()],
        reports=folder_of_output,
    message:
        "code {wildcards.base}..{wildcards.head}: {output.markdown}"
    shell:
        "python -m reports.diff.code_page {params.names}"
        " --built {params.captures} --launched {params.frames} {params.notes:q}"
        " --out {params.reports} 2> {log}"


rule:
    name:
        "reports/diff/code"
    input:
        lambda _: f"{DIFFS}/{diff_name()}.code.md",
        "results/reports/metrics.html",
    message:
        "reports/diff/code is complete"
