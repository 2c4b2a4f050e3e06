# Two revisions measured: each is checked, built and counted by itself, by the harness in its own checkout;
# what an earlier run measured of a commit is used again. Times are taken of both at once, in alternating
# rounds. Operators whose source is the same in both are not measured.
rule check_revision:
    output:
        capture=directory(f"results/{{revision}}/{GPU}/captures/{{recorded}}/check"),
    log:
        f"{RESULTS}/logs/{{recorded}}/check_revision.{{revision}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{recorded}}/check_revision.{{revision}}.tsv"
    wildcard_constraints:
        revision="[0-9a-f]{12}",
        recorded="[a-z0-9_]+",
    conda:
        "envs/gpu.yaml"
    resources:
        gpu_share=CHECK_SHARE,
    params:
        source=lambda wildcards: f"results/{wildcards.revision}/source",
        cases=config["cases"],
        variants=VARIANTS,
    message:
        "check {wildcards.recorded}: every variant of {wildcards.revision}"
    shell:
        "python -m workflows.revisions run {wildcards.revision} {params.source} --"
        " env --chdir={params.source} --unset=ROOFSNAKE_COMMIT python -m kernels.harness check"
        ' {wildcards.recorded} --out "$PWD/{output.capture}" --cases {params.cases} {params.variants} 2> {log}'


rule ncu_revision:
    input:
        check=rules.check_revision.output.capture,
    output:
        capture=directory(f"results/{{revision}}/{GPU}/captures/{{recorded}}/ncu"),
    log:
        f"{RESULTS}/logs/{{recorded}}/ncu_revision.{{revision}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{recorded}}/ncu_revision.{{revision}}.tsv"
    wildcard_constraints:
        revision="[0-9a-f]{12}",
        recorded="[a-z0-9_]+",
    conda:
        "envs/gpu.yaml"
    resources:
        gpu_share=50,
    params:
        source=lambda wildcards: f"results/{wildcards.revision}/source",
        cases=config["cases"],
        variants=VARIANTS,
    message:
        "ncu {wildcards.recorded}: hardware counters of {wildcards.revision}"
    shell:
        "python -m workflows.revisions run {wildcards.revision} {params.source} --"
        " env --chdir={params.source} --unset=ROOFSNAKE_COMMIT python -m kernels.harness ncu"
        ' {wildcards.recorded} --out "$PWD/{output.capture}" --check "$PWD/{input.check}"'
        " --cases {params.cases} {params.variants} 2> {log}"


rule alternate:
    input:
        checks=measured_checks,
        source=measured_sources,
    output:
        captures=directory(f"results/{{base}}..{{head}}/{GPU}/captures/{{recorded}}"),
    log:
        f"{RESULTS}/logs/{{recorded}}/alternate.{{base}}..{{head}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{recorded}}/alternate.{{base}}..{{head}}.tsv"
    wildcard_constraints:
        base=REVISION,
        head=REVISION,
        recorded="[a-z0-9_]+",
    conda:
        "envs/gpu.yaml"
    resources:
        gpu_share=50,
    params:
        cases=config["cases"],
        variants=VARIANTS,
        rounds=config["time_rounds"],
        warm_up_s=config["time_warm_up_s"],
        sessions=config["diff_sessions"],
        noise=noise_option,
    message:
        "time {wildcards.recorded}: {wildcards.base} and {wildcards.head} in alternating rounds"
    shell:
        "python -m workflows.alternate {wildcards.recorded} {wildcards.base} {wildcards.head}"
        " --checks {input.checks} --out {output.captures} --cases {params.cases} {params.variants}"
        " --rounds {params.rounds} --warm-up-s {params.warm_up_s} --sessions {params.sessions}"
        " --noise {params.noise} 2> {log}"


rule parse_measured:
    input:
        captures=measured_passes,
        times=rules.alternate.output.captures,
        code=PARSERS,
    output:
        frames=directory(f"results/{{base}}..{{head}}/{GPU}/frames/{{side}}/{{recorded}}"),
    log:
        f"{RESULTS}/logs/{{recorded}}/parse_measured.{{base}}..{{head}}.{{side}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{recorded}}/parse_measured.{{base}}..{{head}}.{{side}}.tsv"
    wildcard_constraints:
        base=REVISION,
        head=REVISION,
        side="base|head",
        recorded="[a-z0-9_]+",
    conda:
        "envs/replay.yaml"
    params:
        number=lambda wildcards: ("base", "head").index(wildcards.side),
    message:
        "parse {wildcards.recorded}: what was measured of {wildcards.side}"
    shell:
        "python -m parsers frames {input.captures} {input.times}/*/{params.number}/time"
        " --out {output.frames} 2> {log}"
