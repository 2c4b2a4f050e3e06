# Snakemake deletes what a job writes before it starts the job. Frames are thus parsed into a folder of
# their own, so that a capture that cannot be read costs no frame that is there. The targets ask for
# that folder as well: a page that is there would hide, from the next run on, that parsing failed.
rule parse:
    input:
        captures=all_captures,
        code=PARSERS,
    output:
        frames=directory(PARSED),
    log:
        f"{RESULTS}/logs/{{operator}}/parse.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/parse.tsv"
    conda:
        "envs/replay.yaml"
    params:
        captures=capture_folders,
    message:
        "parse {wildcards.operator}: {params.captures}"
    shell:
        "python -m parsers frames {params.captures} --out {output.frames} 2> {log}"


rule keep_frames:
    input:
        parsed=rules.parse.output.frames,
    output:
        [f"{FRAMES}/{frame}.parquet" for frame in ALL_FRAMES],
    log:
        f"{RESULTS}/logs/{{operator}}/keep_frames.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/keep_frames.tsv"
    conda:
        "envs/replay.yaml"
    params:
        frames=folder_of_output,
    message:
        "frames {wildcards.operator}: {params.frames}"
    shell:
        "cp {input.parsed}/*.parquet {params.frames} 2> {log}"
