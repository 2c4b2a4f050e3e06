import os
import shlex
import sys
import time
from functools import cache
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.utils import validate

from kernels.harness import discovery, machine
from kernels.harness.spec import RESERVED

# Jobs run the Python that runs Snakemake, whether or not its environment is activated.
shell.prefix(f"export PATH={shlex.quote(os.path.dirname(sys.executable))}:$PATH; ")

KNOWN_OPERATORS = discovery.names()
PASSES = ("check", "build", "time", "nsys", "ncu")
PAGE = (
    *("md", "html", "time.svg", "bytes.svg", "roofline.svg"),
    *("scaling.svg", "waves.svg", "occupancy.svg", "timeline.svg"),
)
ALL_FRAMES = (
    *("checks", "builds", "samples", "ceilings", "timeline", "counters"),
    *("coverage", "flags", "runs", "cases", "variants", "outcomes"),
)
DEEP_FRAMES = ("counters", "hotspots", "advice", "runs", "cases", "variants", "outcomes")
CHECK_FRAMES = ("checks", "sanitizer", "runs", "cases", "outcomes")


def validate_config():
    """Check the configuration and fill in defaults; complain in one line."""
    try:
        validate(config, "../config/config.schema.yaml")
    except WorkflowError as error:
        cause = error.__context__
        where = ".".join(["config", *getattr(cause, "absolute_path", ())])
        complaint = getattr(cause, "message", None) or str(error)
        known = ", ".join(
            yaml.safe_load(Path("config/config.schema.yaml").read_text())["properties"]
        )
        raise WorkflowError(f"{where}: {complaint}; the keys are {known}") from None


validate_config()


def choose_source():
    """Return "live" or "replay"; with source=live, say what stands in the way."""
    if config["source"] == "replay":
        return "replay"
    obstacles = machine.obstacles()
    if not obstacles:
        return "live"
    if config["source"] == "live":
        raise WorkflowError(f"source=live: {obstacles[0]}, {machine.REPLAY}")
    logger.info(
        f"Replaying recorded captures, nothing is measured, not by -R either: {obstacles[0]}"
    )
    return "replay"


def choose_gpu():
    """Return the folder name of the GPU that is measured or replayed."""
    if SOURCE == "live":
        return machine.gpu_slug(machine.gpu_facts()["gpu"])
    recorded = sorted({path.parts[1] for path in Path("captures").glob("*/*/*/run.json")})
    if config["gpu"] in recorded:
        return config["gpu"]
    if config["gpu"] is None and len(recorded) == 1:
        return recorded[0]
    raise WorkflowError(
        f"gpu={config['gpu']}: captures/ holds {', '.join(recorded) or 'no capture'};"
        " name one with `--config gpu=NAME`, or measure on a GPU"
    )


def choose_operators():
    """Return the operators to report; say which are left out, and why."""
    for name in discovery.misnamed():
        logger.warning(
            f"kernels/{name}.py: no operator can have that name; use lower-case letters, digits"
            f" and _, but none of {', '.join(RESERVED)}"
        )
    unknown = sorted(set(config["operators"]) - set(KNOWN_OPERATORS))
    if unknown:
        raise WorkflowError(
            f"operators: no kernels/{unknown[0]}.py; there are {', '.join(KNOWN_OPERATORS)}"
        )
    return [name for name in config["operators"] or KNOWN_OPERATORS if is_ready(name)]


def is_ready(operator):
    """Say whether an operator can be reported: in replay it needs a whole capture."""
    if SOURCE == "live":
        return True
    folder = Path("captures", GPU, operator)
    if not folder.is_dir():
        logger.warning(f"{operator}: captures/{GPU} has no capture of it; left out of the reports")
        return False
    for name in PASSES:
        if not (folder / name / "run.json").is_file():
            raise WorkflowError(
                f"{folder / name / 'run.json'}: no such file; restore it with `git checkout`"
            )
    return True


SOURCE = choose_source()
GPU = choose_gpu()
OPERATORS = choose_operators()
VARIANTS = f"--variants {' '.join(config['variants'])}" if config["variants"] else ""
RESULTS = f"results/worktree/{GPU}"
CAPTURES = f"{RESULTS}/captures" if SOURCE == "live" else f"captures/{GPU}"


FRAMES = f"{RESULTS}/frames/{{operator}}"
PARSED = f"{RESULTS}/parsed/{{operator}}"
START = time.time()


wildcard_constraints:
    operator="|".join(KNOWN_OPERATORS),
    variant="[a-z0-9_]+",


def python_files(folder):
    """Return the Python files below a folder, so that a rule reruns when its code changes."""
    return sorted(map(str, Path(folder).rglob("*.py")))


HARNESS = python_files("kernels/harness")
PARSERS = python_files("parsers")
DIFF, HISTORY = python_files("reports/diff"), python_files("reports/history")
REPORTS = [*(path for path in python_files("reports") if path not in DIFF + HISTORY), *PARSERS]
TEMPLATES = sorted(map(str, Path("reports/templates").glob("*.j2")))


def source_files(operator):
    """Return the operator's module and those that it imports; a broken one fails its own jobs."""
    try:
        return [os.path.relpath(path) for path in discovery.source_files(operator)]
    except discovery.OperatorError:
        return [f"kernels/{operator}.py"]


def source_hash(operator):
    """Return the hash of the operator's source; a broken module has none that was measured."""
    try:
        return discovery.source_sha256(operator)
    except discovery.OperatorError:
        return "unreadable"


@cache
def variants(operator):
    """Return the names of an operator's variants; those of a broken module are not known."""
    try:
        return discovery.variants(operator)
    except discovery.OperatorError:
        return ()


def operator_source(wildcards):
    """Return the modules that an operator's results depend on."""
    return source_files(wildcards.operator)


def every_source(_):
    """Return the modules that the results of all reported operators depend on."""
    return sorted({path for operator in OPERATORS for path in source_files(operator)})


# Params are inferred from input and output, not given as plain values: Snakemake loads pandas to
# compare those of earlier runs, a third of the time that a run with nothing to do takes.


def capture_folders(wildcards, input):
    """Return the folders of the captures among the input, in the order of the passes."""
    return [f"{CAPTURES}/{wildcards.operator}/{name}" for name in PASSES]


def folder_of_output(wildcards, output):
    """Return the folder that all output goes to."""
    return os.path.dirname(output[0])


def folders_of_frames(wildcards, input):
    """Return the folder of each operator's frames, once."""
    return list(dict.fromkeys(os.path.dirname(path) for path in input.frames))


def provenance(wildcards, input):
    """Return the options that say where frames come from and what the operators' source is now."""
    hashes = [
        f"{os.path.basename(folder)}={source_hash(os.path.basename(folder))}"
        for folder in folders_of_frames(wildcards, input)
    ]
    return f"--source {SOURCE} --source-sha256 {' '.join(hashes)}"


def all_captures(wildcards):
    """Return what every pass wrote for an operator, or the files of its recorded captures.

    The hundreds of PTX and SASS texts beside ``builds.csv`` are for people to read.
    """
    folders = [Path(CAPTURES, wildcards.operator, name) for name in PASSES]
    if SOURCE == "live":
        return [str(folder) for folder in folders]
    for folder in folders:
        if not folder.is_dir():
            raise WorkflowError(
                f"{folder}: no recorded capture; measure {wildcards.operator} on a GPU and keep"
                " it with `snakemake captures/record`"
            )
    return sorted(
        str(path)
        for folder in folders
        for path in folder.iterdir()
        if not {".ptx", ".sass"} & set(path.suffixes)
    )


def profiled(operator):
    """Return the variants of an operator that have a deep profile, in order."""
    folder = Path(CAPTURES, operator, "deep")
    return [name for name in variants(operator) if (folder / name / "run.json").is_file()]


def deep_pages(operator):
    """Return the pages of an operator's deep profiles, which its own page links to."""
    kinds = ("md", "html")
    return [f"results/reports/{operator}/{v}.{kind}" for v in profiled(operator) for kind in kinds]


def deep_option(wildcards):
    """Return the option that names the variants whose deep profile has a page."""
    names = profiled(wildcards.operator)
    return f"--deep {' '.join(names)}" if names else ""


def deep_capture(wildcards):
    """Return what the deep pass wrote for a variant, or the files of its recorded capture."""
    folder = Path(CAPTURES, wildcards.operator, "deep", wildcards.variant)
    if SOURCE == "live":
        return [str(folder)]
    if not folder.is_dir():
        recorded = [f"{path.parts[-4]}/{path.parts[-2]}" for path in recorded_profiles()]
        raise WorkflowError(
            f"reports/{wildcards.operator}/{wildcards.variant}: no deep profile of it is recorded;"
            f" measure it on a GPU and keep it with `snakemake captures/record`, or choose one that"
            f" is: {', '.join(recorded) or 'none'}"
        )
    return sorted(map(str, folder.iterdir()))


def recorded_profiles():
    """Return the `run.json` of each deep profile of this GPU that is recorded."""
    return sorted(Path("captures", GPU).glob("*/deep/*/run.json"))


def folder_of_capture(wildcards):
    """Return the folder of a variant's deep profile."""
    return f"{CAPTURES}/{wildcards.operator}/deep/{wildcards.variant}"


def provenance_of_operator(wildcards):
    """Return the options that say where frames come from and what the source is now."""
    return (
        f"--source {SOURCE} --source-sha256 {wildcards.operator}={source_hash(wildcards.operator)}"
    )


def checked_frames(_):
    """Return the frames of every operator's checks; what is not measured cannot be checked."""
    if SOURCE != "live":
        raise WorkflowError(
            "checks/all: nothing can be checked here; run it on a machine with a GPU"
        )
    return [
        f"{RESULTS}/checks/{operator}/frames/{frame}.parquet"
        for operator in OPERATORS
        for frame in CHECK_FRAMES
    ]


def measured_captures(_):
    """Return every pass of every operator; there is something to record only after measuring."""
    if SOURCE != "live":
        raise WorkflowError(
            "captures/record: nothing is measured here; run it on a machine with a GPU"
        )
    if VARIANTS:
        raise WorkflowError(
            "captures/record: captures hold every variant; run it without `variants`"
        )
    return expand(f"{CAPTURES}/{{operator}}/{{name}}", operator=OPERATORS, name=PASSES)


def landing():
    """Return the lines that say where to look: the index, or else the pages of this run."""
    written = [
        page
        for page in sorted(Path("results/reports").rglob("*.md"))
        if page.stat().st_mtime >= START
    ]
    index = [page for page in written if page.name == "index.md"]
    return [
        f"Reports: {page} (in a browser: {page.with_suffix('.html')})" for page in index or written
    ]


def complaints():
    """Return the one-line errors that the jobs of this run left in their logs."""
    logs = [path for path in Path(RESULTS, "logs").rglob("*.log") if path.stat().st_mtime >= START]
    lines = [line for path in sorted(logs) for line in path.read_text().splitlines()]
    return [line for line in lines if line.startswith("error: ")]
