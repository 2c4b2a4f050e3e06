rule report:
    input:
        frames=[f"{FRAMES}/{frame}.parquet" for frame in ALL_FRAMES],
        code=REPORTS,
        templates=TEMPLATES,
    output:
        markdown="results/reports/{operator}.md",
        html="results/reports/{operator}.html",
        time="results/reports/{operator}.time.svg",
        bytes="results/reports/{operator}.bytes.svg",
    log:
        f"{RESULTS}/logs/{{operator}}/report.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/report.tsv"
    conda:
        "envs/replay.yaml"
    params:
        frames=frames_folder,
        source=SOURCE,
        sha256=source_sha256,
    message:
        "report {wildcards.operator}: {output.markdown}"
    shell:
        "python -m reports operator {params.frames} --out results/reports"
        " --source {params.source} --source-sha256 {params.sha256} 2> {log}"


rule index:
    input:
        frames=expand(
            f"{RESULTS}/frames/{{operator}}/{{frame}}.parquet",
            operator=OPERATORS,
            frame=ALL_FRAMES,
        ),
        code=REPORTS,
        templates=TEMPLATES,
    output:
        markdown="results/reports/index.md",
        html="results/reports/index.html",
    log:
        f"{RESULTS}/logs/index.log",
    benchmark:
        f"{RESULTS}/benchmarks/index.tsv"
    conda:
        "envs/replay.yaml"
    params:
        frames=[f"{RESULTS}/frames/{operator}" for operator in OPERATORS],
        source=SOURCE,
    message:
        "report index: {output.markdown}"
    shell:
        "python -m reports index {params.frames} --out results/reports"
        " --source {params.source} 2> {log}"
