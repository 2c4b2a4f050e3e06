from snakemake.utils import min_version

min_version("9.19")


configfile: "config/config.yaml"


include: "workflows/common.smk"


rule:
    name:
        "reports/all"
    input:
        "results/reports/index.md",
        expand("results/reports/{operator}.md", operator=OPERATORS),


for operator in KNOWN_OPERATORS:

    rule:
        name:
            f"reports/{operator}"
        input:
            f"results/reports/{operator}.md",


include: "workflows/build.smk"
include: "workflows/passes.smk"
include: "workflows/parse.smk"
include: "workflows/report.smk"
include: "workflows/captures.smk"


onsuccess:
    logger.info("Reports: results/reports/index.md (in a browser: results/reports/index.html)")


onerror:
    for line in complaints():
        logger.error(line)
