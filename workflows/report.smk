rule report:
    input:
        source=operator_source,
        frames=[f"{FRAMES}/{frame}.parquet" for frame in ALL_FRAMES],
        deep=deep_frames,
        code=REPORTS,
        templates=TEMPLATES,
    output:
        markdown="results/reports/{operator}.md",
        html="results/reports/{operator}.html",
        time="results/reports/{operator}.time.svg",
        bytes="results/reports/{operator}.bytes.svg",
        comparison=f"{FRAMES}/comparison.parquet",
    log:
        f"{RESULTS}/logs/{{operator}}/report.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/report.tsv"
    conda:
        "envs/replay.yaml"
    params:
        frames=folders_of_frames,
        reports=folder_of_output,
        provenance=provenance,
        deep=deep_option,
    message:
        "report {wildcards.operator}: {output.markdown}"
    shell:
        "python -m reports operator {params.frames} --out {params.reports}"
        " {params.provenance} {params.deep} 2> {log}"


rule index:
    input:
        source=every_source,
        frames=expand(
            f"{RESULTS}/frames/{{operator}}/{{frame}}.parquet",
            operator=OPERATORS,
            frame=(*ALL_FRAMES, "comparison"),
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
        frames=folders_of_frames,
        reports=folder_of_output,
        provenance=provenance,
    message:
        "report index: {output.markdown}"
    shell:
        "python -m reports index {params.frames} --out {params.reports}"
        " {params.provenance} 2> {log}"
