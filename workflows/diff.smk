# Two revisions compared. In replay, of a commit its own captures are read, from a checkout beside the
# user's that is there while they are. Operators whose captures are the same files in both are not parsed
# at all. Live, both are measured (live.smk).
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


rule build_revision:
    output:
        capture=directory("results/{revision}/captures/{recorded}/build"),
    log:
        f"{RESULTS}/logs/{{recorded}}/build_revision.{{revision}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{recorded}}/build_revision.{{revision}}.tsv"
    wildcard_constraints:
        revision="[0-9a-f]{12}",
        recorded="[a-z0-9_]+",
    conda:
        "envs/gpu.yaml"
    params:
        source=lambda wildcards: f"results/{wildcards.revision}/source",
        cases=config["cases"],
        variants=VARIANTS,
    message:
        "build {wildcards.recorded}: the kernels of {wildcards.revision}"
    shell:
        "python -m workflows.revisions run {wildcards.revision} {params.source} --"
        " env --chdir={params.source} --unset=ROOFSNAKE_COMMIT python -m kernels.harness build {wildcards.recorded}"
        ' --out "$PWD"/{output.capture} --cases {params.cases} {params.variants} 2> {log}'


rule parse_build_of_revision:
    input:
        capture=rules.build_revision.output.capture,
        code=PARSERS,
    output:
        builds="results/{revision}/built/{recorded}/builds.parquet",
        runs="results/{revision}/built/{recorded}/runs.parquet",
    log:
        f"{RESULTS}/logs/{{recorded}}/parse_build_of_revision.{{revision}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{recorded}}/parse_build_of_revision.{{revision}}.tsv"
    wildcard_constraints:
        revision="[0-9a-f]{12}",
        recorded="[a-z0-9_]+",
    conda:
        "envs/replay.yaml"
    params:
        frames=folder_of_output,
    message:
        "parse {wildcards.recorded}: the builds of {wildcards.revision}"
    shell:
        "python -m parsers frames {input.capture} --out {params.frames} 2> {log}"


rule diff:
    input:
        base=lambda wildcards: frames_of(wildcards, "base"),
        head=lambda wildcards: frames_of(wildcards, "head"),
        noise=noise_files,
        base_builds=lambda wildcards: builds_of(wildcards.base),
        head_builds=lambda wildcards: builds_of(wildcards.head),
        checks=interpreted_frames,
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
        base=lambda wildcards: frames_folder(wildcards, "base"),
        head=lambda wildcards: frames_folder(wildcards, "head"),
        noise=noise_option,
        what="source" if SOURCE == "live" else "captures",
        names=lambda wildcards: f"--base-name {wildcards.base} --head-name {wildcards.head}",
        operators=lambda _: compared_operators()[0],
        same=lambda _: compared_operators()[1],
        built=built_folders,
        checked=interpreted_options,
        notes=lambda _: [f"--note={note}" for note in [*diff_notes(), *interpreted_notes()]],
        reports=folder_of_output,
    message:
        "diff {wildcards.base}..{wildcards.head}: {output.markdown}"
    shell:
        "python -m reports.diff {params.base} {params.head} {params.names} --report-only"
        " --operators {params.operators} --same {params.same} --same-what {params.what}"
        " --noise {params.noise}"
        " --built {params.built} {params.checked} {params.notes:q}"
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
