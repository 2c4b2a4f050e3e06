rule build:
    input:
        source=operator_source,
        harness=HARNESS,
    output:
        capture=directory(f"{RESULTS}/captures/{{operator}}/build"),
    log:
        f"{RESULTS}/logs/{{operator}}/build.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/build.tsv"
    conda:
        "envs/gpu.yaml"
    params:
        cases=config["cases"],
        variants=VARIANTS,
    message:
        "build {wildcards.operator}: compile its Triton kernels for sm_80, sm_90 and sm_100"
    shell:
        "python -m kernels.harness build {wildcards.operator} --out {output.capture}"
        " --cases {params.cases} {params.variants} 2> {log}"


rule parse_build_here:
    input:
        capture=rules.build.output.capture,
        code=PARSERS,
    output:
        builds=f"{RESULTS}/built/{{operator}}/builds.parquet",
        runs=f"{RESULTS}/built/{{operator}}/runs.parquet",
    log:
        f"{RESULTS}/logs/{{operator}}/parse_build_here.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/parse_build_here.tsv"
    conda:
        "envs/replay.yaml"
    params:
        frames=folder_of_output,
    message:
        "parse {wildcards.operator}: {input.capture}"
    shell:
        "python -m parsers frames {input.capture} --out {params.frames} 2> {log}"


rule report_build:
    input:
        frames=rules.parse_build_here.output,
        code=REPORTS,
        templates=TEMPLATES,
    output:
        markdown="results/reports/{operator}.builds.md",
        html="results/reports/{operator}.builds.html",
    log:
        f"{RESULTS}/logs/{{operator}}/report_build.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/report_build.tsv"
    conda:
        "envs/replay.yaml"
    params:
        frames=folders_of_frames,
        reports=folder_of_output,
    message:
        "report {wildcards.operator}: {output.markdown}"
    shell:
        "python -m reports builds {params.frames} --out {params.reports} 2> {log}"
