# The Triton variants of both revisions on small cases, under Triton's interpreter: what a machine
# without a GPU can see of wrong results.
rule interpret:
    input:
        source=operator_source,
        harness=HARNESS,
    output:
        capture=directory(f"{RESULTS}/captures/{{operator}}/interpret"),
    log:
        f"{RESULTS}/logs/{{operator}}/interpret.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/interpret.tsv"
    conda:
        "envs/gpu.yaml"
    message:
        "interpret {wildcards.operator}: its Triton variants on the CPU"
    shell:
        "python -m kernels.harness interpret {wildcards.operator} --out {output.capture} 2> {log}"


rule interpret_revision:
    output:
        capture=directory("results/{revision}/captures/{recorded}/interpret"),
    log:
        f"{RESULTS}/logs/{{recorded}}/interpret_revision.{{revision}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{recorded}}/interpret_revision.{{revision}}.tsv"
    wildcard_constraints:
        revision="[0-9a-f]{12}",
        recorded="[a-z0-9_]+",
    conda:
        "envs/gpu.yaml"
    params:
        source=lambda wildcards: f"results/{wildcards.revision}/source",
    message:
        "interpret {wildcards.recorded}: the Triton variants of {wildcards.revision} on the CPU"
    shell:
        "python -m workflows.revisions run {wildcards.revision} {params.source} --"
        " env --chdir={params.source} python -m kernels.harness interpret {wildcards.recorded}"
        ' --out "$PWD"/{output.capture} 2> {log}'


rule parse_interpreted:
    input:
        capture=rules.interpret.output.capture,
        code=PARSERS,
    output:
        checks=f"{RESULTS}/interpreted/{{operator}}/checks.parquet",
        runs=f"{RESULTS}/interpreted/{{operator}}/runs.parquet",
    log:
        f"{RESULTS}/logs/{{operator}}/parse_interpreted.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/parse_interpreted.tsv"
    conda:
        "envs/replay.yaml"
    params:
        frames=folder_of_output,
    message:
        "parse {wildcards.operator}: {input.capture}"
    shell:
        "python -m parsers frames {input.capture} --out {params.frames} 2> {log}"


rule parse_interpreted_of_revision:
    input:
        capture=rules.interpret_revision.output.capture,
        code=PARSERS,
    output:
        checks="results/{revision}/interpreted/{recorded}/checks.parquet",
        runs="results/{revision}/interpreted/{recorded}/runs.parquet",
    log:
        f"{RESULTS}/logs/{{recorded}}/parse_interpreted_of_revision.{{revision}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{recorded}}/parse_interpreted_of_revision.{{revision}}.tsv"
    wildcard_constraints:
        revision="[0-9a-f]{12}",
        recorded="[a-z0-9_]+",
    conda:
        "envs/replay.yaml"
    params:
        frames=folder_of_output,
    message:
        "parse {wildcards.recorded}: the checks of {wildcards.revision} on the CPU"
    shell:
        "python -m parsers frames {input.capture} --out {params.frames} 2> {log}"
