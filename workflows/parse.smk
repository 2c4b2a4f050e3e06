rule parse:
    input:
        captures=all_captures,
        code=PARSERS,
    output:
        [f"{FRAMES}/{frame}.parquet" for frame in ALL_FRAMES],
    log:
        f"{RESULTS}/logs/{{operator}}/parse.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/parse.tsv"
    conda:
        "envs/replay.yaml"
    params:
        captures=capture_folders,
        frames=folder_of_output,
    message:
        "parse {wildcards.operator}: {params.captures}"
    shell:
        "python -m parsers frames {params.captures} --out {params.frames} 2> {log}"
