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
    message:
        "build {wildcards.operator}: compile its Triton kernels for sm_80, sm_90 and sm_100"
    shell:
        "python -m kernels.harness build {wildcards.operator} --out {output.capture}" " 2> {log}"
