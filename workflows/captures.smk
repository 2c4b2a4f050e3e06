rule record:
    name:
        "captures/record"
    input:
        captures=measured_captures,
        code=PARSERS,
    log:
        f"{RESULTS}/logs/record.log",
    benchmark:
        f"{RESULTS}/benchmarks/record.tsv"
    conda:
        "envs/replay.yaml"
    params:
        measured=CAPTURES,
        operators=OPERATORS,
        passes=PASSES,
        recorded=f"captures/{GPU}",
    message:
        "record: scrubbed copies in {params.recorded}"
    shell:
        "python -m parsers record {params.measured} --out {params.recorded}"
        " --operators {params.operators} --passes {params.passes} 2> {log}"
