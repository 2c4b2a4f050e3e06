# Checks are not timed, so several may share the GPU, where their memory allows. A pass that times
# or counts takes half of it here: while one measures, the next one imports its compilers, and then
# waits for its turn (kernels/harness/turns.py).
CHECK_SHARE = 100 if config["cases"] == "full" else 25


rule check:
    input:
        source=operator_source,
        harness=HARNESS,
    output:
        capture=directory(f"{RESULTS}/captures/{{operator}}/check"),
    log:
        f"{RESULTS}/logs/{{operator}}/check.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/check.tsv"
    conda:
        "envs/gpu.yaml"
    resources:
        gpu_share=CHECK_SHARE,
    params:
        cases=config["cases"],
        variants=VARIANTS,
    message:
        "check {wildcards.operator}: every variant against the float64 reference"
    shell:
        "python -m kernels.harness check {wildcards.operator} --out {output.capture}"
        " --cases {params.cases} {params.variants} 2> {log}"


rule time:
    input:
        source=operator_source,
        harness=HARNESS,
        check=rules.check.output.capture,
    output:
        capture=directory(f"{RESULTS}/captures/{{operator}}/time"),
    log:
        f"{RESULTS}/logs/{{operator}}/time.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/time.tsv"
    conda:
        "envs/gpu.yaml"
    resources:
        gpu_share=50,
    params:
        cases=config["cases"],
        variants=VARIANTS,
        rounds=config["time_rounds"],
        warm_up_s=config["time_warm_up_s"],
    message:
        "time {wildcards.operator}: CUDA events, {params.rounds} rounds"
    shell:
        "python -m kernels.harness time {wildcards.operator} --out {output.capture}"
        " --check {input.check} --cases {params.cases} {params.variants} --rounds {params.rounds} --warm-up-s {params.warm_up_s} 2> {log}"


rule nsys:
    input:
        source=operator_source,
        harness=HARNESS,
        check=rules.check.output.capture,
    output:
        capture=directory(f"{RESULTS}/captures/{{operator}}/nsys"),
    log:
        f"{RESULTS}/logs/{{operator}}/nsys.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/nsys.tsv"
    conda:
        "envs/gpu.yaml"
    resources:
        gpu_share=50,
    params:
        cases=config["cases"],
        variants=VARIANTS,
        repeats=config["nsys_repeats"],
    message:
        "nsys {wildcards.operator}: timeline, {params.repeats} repeats"
    shell:
        "python -m kernels.harness nsys {wildcards.operator} --out {output.capture}"
        " --check {input.check} --cases {params.cases} {params.variants} --repeats {params.repeats} 2> {log}"


rule ncu:
    input:
        source=operator_source,
        harness=HARNESS,
        check=rules.check.output.capture,
    output:
        capture=directory(f"{RESULTS}/captures/{{operator}}/ncu"),
    log:
        f"{RESULTS}/logs/{{operator}}/ncu.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{operator}}/ncu.tsv"
    conda:
        "envs/gpu.yaml"
    resources:
        gpu_share=50,
    params:
        cases=config["cases"],
        variants=VARIANTS,
    message:
        "ncu {wildcards.operator}: hardware counters"
    shell:
        "python -m kernels.harness ncu {wildcards.operator} --out {output.capture}"
        " --check {input.check} --cases {params.cases} {params.variants} 2> {log}"


rule doctor:
    log:
        f"{RESULTS}/logs/doctor.log",
    conda:
        "envs/gpu.yaml"
    message:
        "doctor: what keeps this machine from measuring"
    shell:
        "python -m kernels.harness doctor | tee {log}"
