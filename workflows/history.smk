# What was recorded at each commit, as one page. Which captures there are, and which of them the parsers
# take, is asked before any is parsed; each is parsed once, for as long as its files stay the same.
checkpoint lineage:
    input:
        code=[*PARSERS, "workflows/history.py", "workflows/lineage.py"],
    output:
        lineage=f"{RESULTS}/history.json",
    log:
        f"{RESULTS}/logs/history/lineage.log",
    benchmark:
        f"{RESULTS}/benchmarks/history/lineage.tsv"
    conda:
        "envs/replay.yaml"
    params:
        options=lineage_options,
        points=lineage_points,
    message:
        "history: which captures were recorded at which commit"
    shell:
        "python -m workflows.history {params.options} --out {output.lineage} 2> {log}"


rule history:
    input:
        lineage=f"{RESULTS}/history.json",
        frames=history_frames,
        code=[*HISTORY, *DIFF, *REPORTS],
        templates=TEMPLATES,
    output:
        markdown=f"{HISTORY_PAGE}.md",
        html=f"{HISTORY_PAGE}.html",
        figures=directory(HISTORY_PAGE),
    log:
        f"{RESULTS}/logs/history/history.log",
    benchmark:
        f"{RESULTS}/benchmarks/history/history.tsv"
    conda:
        "envs/replay.yaml"
    params:
        reports=folder_of_output,
    message:
        "history: {output.markdown}"
    shell:
        "python -m reports.history {input.lineage} --out {params.reports} 2> {log}"


rule:
    name:
        "reports/history"
    input:
        f"{HISTORY_PAGE}.md",
        "results/reports/metrics.html",
    message:
        "reports/history is complete"
