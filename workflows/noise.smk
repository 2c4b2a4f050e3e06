# What the same code differs by on a machine: several processes measure the working tree in alternating
# rounds, as two revisions do, and are compared with each other.
rule alternate_alike:
    input:
        check=rules.check.output.capture,
        source=operator_source,
        harness=HARNESS,
    output:
        captures=directory(f"{RESULTS}/captures/{{operator}}/noise"),
    log:
        f"{RESULTS}/logs/{{operator}}/alternate_alike.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/alternate_alike.tsv"
    conda:
        "envs/gpu.yaml"
    resources:
        gpu_share=50,
    params:
        cases=config["cases"],
        variants=VARIANTS,
        rounds=config["time_rounds"],
        warm_up_s=config["time_warm_up_s"],
        revisions=["worktree"] * config["noise_processes"],
        checks=lambda wildcards, input: [input.check] * config["noise_processes"],
    message:
        "time {wildcards.operator}: the same source in processes that alternate"
    shell:
        "python -m workflows.alternate {wildcards.operator} {params.revisions}"
        " --checks {params.checks} --out {output.captures} --cases {params.cases} {params.variants}"
        " --rounds {params.rounds} --warm-up-s {params.warm_up_s} 2> {log}"


rule parse_alike:
    input:
        captures=noise_captures,
        code=PARSERS,
    output:
        frames=directory(f"results/noise/{GPU}/frames/{{operator}}"),
    log:
        f"{RESULTS}/logs/{{operator}}/parse_alike.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/parse_alike.tsv"
    conda:
        "envs/replay.yaml"
    params:
        captures=lambda wildcards: f"{CAPTURES}/{wildcards.operator}/noise",
    message:
        "parse {wildcards.operator}: each of the processes"
    shell:
        "for one in {params.captures}/0/*; do python -m parsers frames $one/time"
        " --out {output.frames}/$(basename $one); done 2> {log}"


rule report_noise:
    input:
        frames=alike_frames,
        code=[*DIFF, *REPORTS],
        templates=TEMPLATES,
    output:
        markdown="results/reports/noise.md",
        html="results/reports/noise.html",
        kept=str(NOISE),
    log:
        f"{RESULTS}/logs/noise.log",
    benchmark:
        f"{RESULTS}/benchmarks/noise.tsv"
    conda:
        "envs/replay.yaml"
    params:
        reports=folder_of_output,
    message:
        "report noise: {output.markdown}"
    shell:
        "python -m reports.diff.noise {input.frames} --out {params.reports}"
        " --keep {output.kept} 2> {log}"


rule:
    name:
        "reports/noise"
    input:
        rules.report_noise.output.markdown,
    message:
        "reports/noise is complete"
