for name in PASSES:

    rule:
        name:
            f"parse_{name}"
        input:
            capture=capture(name),
            code=PARSERS,
        output:
            [f"{FRAMES}/{frame}.parquet" for frame in FRAMES_OF_PASS[name]],
        log:
            f"{RESULTS}/logs/{{operator}}/parse_{name}.log",
        benchmark:
            f"{RESULTS}/benchmarks/{{operator}}/parse_{name}.tsv"
        conda:
            "envs/replay.yaml"
        params:
            capture=capture_folder(name),
            frames=folder_of_output,
        message:
            "parse {wildcards.operator}: {params.capture}"
        shell:
            "python -m parsers frames {params.capture} --out {params.frames} 2> {log}"


rule parse_runs:
    input:
        captures=all_captures,
        code=PARSERS,
    output:
        [f"{FRAMES}/{frame}.parquet" for frame in RUN_FRAMES],
    log:
        f"{RESULTS}/logs/{{operator}}/parse_runs.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/parse_runs.tsv"
    conda:
        "envs/replay.yaml"
    params:
        captures=capture_folders,
        frames=folder_of_output,
    message:
        "parse {wildcards.operator}: where and with what it was measured"
    shell:
        "python -m parsers runs {params.captures} --out {params.frames} 2> {log}"
