rule report:
    input:
        source=operator_source,
        frames=[f"{FRAMES}/{frame}.parquet" for frame in ALL_FRAMES],
        code=REPORTS,
        templates=TEMPLATES,
    output:
        markdown="results/reports/{operator}.md",
        html=report(
            "results/reports/{operator}.html",
            caption="report/page.rst",
            category="{operator}",
            labels={"kind": "page"},
        ),
        time=report(
            "results/reports/{operator}.time.svg",
            caption="report/time.rst",
            category="{operator}",
            labels={"kind": "times"},
        ),
        bytes=report(
            "results/reports/{operator}.bytes.svg",
            caption="report/bytes.rst",
            category="{operator}",
            labels={"kind": "DRAM bytes"},
        ),
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
        html=report(
            "results/reports/index.html",
            caption="report/index.rst",
            category="All operators",
            labels={"kind": "index"},
        ),
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


rule metrics:
    input:
        code=REPORTS,
        templates=TEMPLATES,
    output:
        markdown="results/reports/metrics.md",
        html=report(
            "results/reports/metrics.html",
            caption="report/metrics.rst",
            category="All operators",
            labels={"kind": "metrics"},
        ),
    log:
        f"{RESULTS}/logs/metrics.log",
    benchmark:
        f"{RESULTS}/benchmarks/metrics.tsv"
    conda:
        "envs/replay.yaml"
    params:
        reports=folder_of_output,
    message:
        "reference of the metrics: {output.markdown}"
    shell:
        "python -m reports metrics --out {params.reports} 2> {log}"
