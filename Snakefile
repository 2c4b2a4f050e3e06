from snakemake.utils import min_version

min_version("9.19")


configfile: "config/config.yaml"


include: "workflows/common.smk"


rule:
    name:
        "reports/all"
    input:
        expand("results/reports/{page}.{kind}", page=("index", "metrics"), kind=("md", "html")),
        expand("results/reports/{operator}.{kind}", operator=OPERATORS, kind=PAGE),
        expand(PARSED, operator=OPERATORS),
        [page for operator in OPERATORS for page in deep_pages(operator)],
    message:
        "reports/all is complete"


rule:
    name:
        "builds/all"
    input:
        expand("results/reports/{operator}.builds.md", operator=OPERATORS),
    message:
        "builds/all is complete"


for operator in KNOWN_OPERATORS:

    rule:
        name:
            f"reports/{operator}"
        input:
            [f"results/reports/{operator}.{kind}" for kind in PAGE],
            "results/reports/metrics.html",
            expand(PARSED, operator=operator),
            deep_pages(operator),
        message:
            f"reports/{operator} is complete"

    rule:
        name:
            f"builds/{operator}"
        input:
            f"results/reports/{operator}.builds.md",
        message:
            f"builds/{operator} is complete"


include: "workflows/build.smk"
include: "workflows/passes.smk"
include: "workflows/parse.smk"
include: "workflows/report.smk"
include: "workflows/deep.smk"
include: "workflows/captures.smk"
include: "workflows/checks.smk"
include: "workflows/comparison.smk"
include: "workflows/live.smk"
include: "workflows/noise.smk"
include: "workflows/numerics.smk"
include: "workflows/interpret.smk"
include: "workflows/diff.smk"
include: "workflows/code_inputs.smk"
include: "workflows/code.smk"
include: "workflows/lineage.smk"
include: "workflows/history.smk"


onstart:
    # Snakemake's limit of 100 jobs a second has a timer of its own after each scheduling, so that it
    # schedules ever more often: it took a fifth of the time of a replay on two cores.
    workflow.scheduler.job_rate_limiter = None


onsuccess:
    for line in landing():
        logger.info(line)


onerror:
    for line in complaints():
        logger.error(line)
