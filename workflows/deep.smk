# One variant in depth: the full set of metrics, with its SASS, on the largest quick case. Nothing asks
# for it but its own target, for ncu runs each kernel some forty times.
DEEP = f"{RESULTS}/captures/{{operator}}/deep/{{variant}}"
DEEP_PARSED = f"{RESULTS}/parsed-deep/{{operator}}/{{variant}}"
DEEP_KEPT = f"{FRAMES}/deep/{{variant}}"


rule deep:
    input:
        source=operator_source,
        harness=HARNESS,
        check=rules.check.output.capture,
    output:
        capture=directory(DEEP),
    log:
        f"{RESULTS}/logs/{{operator}}/deep.{{variant}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/deep.{{variant}}.tsv"
    conda:
        "envs/gpu.yaml"
    resources:
        gpu_share=50,
    message:
        "deep {wildcards.operator}/{wildcards.variant}: all counters, by instruction too"
    shell:
        "python -m kernels.harness deep {wildcards.operator} --variant {wildcards.variant}"
        " --out {output.capture} --check {input.check} --cases quick 2> {log}"


rule parse_deep:
    input:
        capture=deep_capture,
        code=PARSERS,
    output:
        frames=directory(DEEP_PARSED),
    log:
        f"{RESULTS}/logs/{{operator}}/parse_deep.{{variant}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/parse_deep.{{variant}}.tsv"
    conda:
        "envs/replay.yaml"
    params:
        capture=folder_of_capture,
    message:
        "parse {wildcards.operator}/{wildcards.variant}: {params.capture}"
    shell:
        "python -m parsers frames {params.capture} --out {output.frames} 2> {log}"


rule keep_deep_frames:
    input:
        parsed=rules.parse_deep.output.frames,
    output:
        [f"{DEEP_KEPT}/{frame}.parquet" for frame in DEEP_FRAMES],
    log:
        f"{RESULTS}/logs/{{operator}}/keep_deep_frames.{{variant}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/keep_deep_frames.{{variant}}.tsv"
    conda:
        "envs/replay.yaml"
    params:
        frames=folder_of_output,
    message:
        "frames {wildcards.operator}/{wildcards.variant}: {params.frames}"
    shell:
        "cp {input.parsed}/*.parquet {params.frames} 2> {log}"


rule report_deep:
    input:
        source=operator_source,
        frames=rules.keep_deep_frames.output,
        code=REPORTS,
        templates=TEMPLATES,
    output:
        markdown="results/reports/{operator}/{variant}.md",
        html="results/reports/{operator}/{variant}.html",
    log:
        f"{RESULTS}/logs/{{operator}}/report_deep.{{variant}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/report_deep.{{variant}}.tsv"
    conda:
        "envs/replay.yaml"
    params:
        frames=folders_of_frames,
        reports=folder_of_output,
        provenance=provenance_of_operator,
    message:
        "report {wildcards.operator}/{wildcards.variant}: {output.markdown}"
    shell:
        "python -m reports deep {params.frames} --out {params.reports} {params.provenance} 2> {log}"


for operator in KNOWN_OPERATORS:
    for variant in variants(operator):

        rule:
            name:
                f"reports/{operator}/{variant}"
            input:
                [f"results/reports/{operator}/{variant}.{kind}" for kind in ("md", "html")],
                expand(DEEP_PARSED, operator=operator, variant=variant),
            message:
                f"reports/{operator}/{variant} is complete"
