# Every case of every operator against float64, and the Triton variants under compute-sanitizer.
# The page is a job of its own, so that it stays where the target fails over what it shows.
CHECKS = f"{RESULTS}/checks/{{operator}}"


rule check_every_case:
    input:
        source=operator_source,
        harness=HARNESS,
    output:
        capture=directory(f"{CHECKS}/check"),
    log:
        f"{RESULTS}/logs/{{operator}}/check_every_case.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/check_every_case.tsv"
    conda:
        "envs/gpu.yaml"
    resources:
        gpu_share=100,
    message:
        "check {wildcards.operator}: every variant on every case"
    shell:
        "python -m kernels.harness check {wildcards.operator} --out {output.capture}"
        " --cases full 2> {log}"


rule sanitize:
    input:
        source=operator_source,
        harness=HARNESS,
    output:
        capture=directory(f"{CHECKS}/sanitize"),
    log:
        f"{RESULTS}/logs/{{operator}}/sanitize.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/sanitize.tsv"
    conda:
        "envs/gpu.yaml"
    resources:
        gpu_share=10,
    message:
        "sanitize {wildcards.operator}: its Triton variants under memcheck and racecheck"
    shell:
        "python -m kernels.harness sanitize {wildcards.operator} --out {output.capture} 2> {log}"


rule parse_checks:
    input:
        check=rules.check_every_case.output.capture,
        sanitize=rules.sanitize.output.capture,
        code=PARSERS,
    output:
        [f"{CHECKS}/frames/{frame}.parquet" for frame in CHECK_FRAMES],
    log:
        f"{RESULTS}/logs/{{operator}}/parse_checks.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/parse_checks.tsv"
    conda:
        "envs/replay.yaml"
    params:
        frames=folder_of_output,
    message:
        "parse {wildcards.operator}: its checks"
    shell:
        "python -m parsers frames {input.check} {input.sanitize} --out {params.frames} 2> {log}"


rule report_checks:
    input:
        frames=checked_frames,
        code=REPORTS,
        templates=TEMPLATES,
    output:
        markdown="results/reports/checks.md",
        html="results/reports/checks.html",
    log:
        f"{RESULTS}/logs/report_checks.log",
    benchmark:
        f"{RESULTS}/benchmarks/report_checks.tsv"
    conda:
        "envs/replay.yaml"
    params:
        frames=folders_of_frames,
        reports=folder_of_output,
    message:
        "report checks: {output.markdown}"
    shell:
        "python -m reports checks {params.frames} --out {params.reports} 2> {log}"


rule:
    name:
        "checks/all"
    input:
        page=rules.report_checks.output.markdown,
        frames=checked_frames,
        code=REPORTS,
    log:
        f"{RESULTS}/logs/checks.log",
    conda:
        "envs/replay.yaml"
    params:
        frames=folders_of_frames,
    message:
        "checks: is anything wrong on {input.page}?"
    shell:
        "python -m reports gate {params.frames} --page {input.page} 2> {log}"
