# The commits at which captures of this GPU changed, and where the frames of each are.
import json

from workflows import lineage

HISTORY_PAGE = "results/reports/history"


@cache
def recorded_lineage():
    """Return where the recorded captures changed; what is measured here is not recorded yet."""
    base = None if config["base"] is None else str(config["base"])
    try:
        found = lineage.trace(
            GPU, PASSES, Path(), base, config["operators"], on_disk=SOURCE == "replay"
        )
    except revisions.RevisionError as error:
        raise WorkflowError(f"reports/history: {error}") from None
    if not found.points:
        raise WorkflowError(
            f"reports/history: no commit has a capture on {GPU}; keep one with"
            " `snakemake captures/record` and commit it"
        )
    return found


def lineage_options(_):
    """Return the options that say which captures the history lists."""
    words = ["--gpu", GPU, "--passes", *PASSES]
    if config["base"] is not None:
        words.append(f"--base={config['base']}")
    if SOURCE == "replay":
        words.append("--on-disk")
    return shlex.join([*words, "--operators", *config["operators"]])


def lineage_points(_):
    """Return what the list changes with: the commits and what came with each."""
    found = recorded_lineage()
    return [repr(found.commits), repr(found.points), *found.notes]


def history_frames(_):
    """Return the frames of each point that the parsers take."""
    path = Path(checkpoints.lineage.get().output.lineage)
    points = json.loads(path.read_text())["points"]
    folders = dict.fromkeys(one["frames"] for listed in points.values() for one in listed)
    here = f"{RESULTS}/frames/"
    return [
        file
        for folder in folders
        for file in (
            [f"{folder}/{frame}.parquet" for frame in ALL_FRAMES]
            if folder.startswith(here)
            else [folder]
        )
    ]
