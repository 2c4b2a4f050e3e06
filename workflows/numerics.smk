# Which operators are checked without a GPU in base and head, and where the frames of that are.
from workflows import git

INTERPRET = "kernels/harness/interpret.py"


@cache
def interpreting(which):
    """Say whether the harness of base or head can check kernels under Triton's interpreter."""
    commit = named(which).commit
    if commit is None:
        return Path(INTERPRET).is_file()
    return git.run(Path(), "cat-file", "-e", f"{commit}:{INTERPRET}").returncode == 0


def checked_without_gpu(which):
    """Return the operators of base or head to check; base alone would be nothing to compare."""
    if SOURCE == "live" or not interpreting("head") or not interpreting(which):
        return []
    return rebuilt_operators()


def interpreted_folder(name):
    """Return the folder of the operators' checks without a GPU of a revision."""
    return f"{RESULTS}/interpreted" if name == "worktree" else f"results/{name}/interpreted"


def interpreted_folders(wildcards, which):
    """Return the folder of each operator's checks of base or head."""
    folder = interpreted_folder(getattr(wildcards, which))
    return [f"{folder}/{operator}" for operator in checked_without_gpu(which)]


def interpreted_frames(wildcards):
    """Return the checks of base and head that are compared."""
    return [
        f"{folder}/{frame}.parquet"
        for which in ("base", "head")
        for folder in interpreted_folders(wildcards, which)
        for frame in ("checks", "runs")
    ]


def interpreted_options(wildcards):
    """Return the options that name the folders of checks, of base and of head."""
    base, head = (" ".join(interpreted_folders(wildcards, which)) for which in ("base", "head"))
    return f"--checked-base {base} --checked {head}"


def interpreted_notes():
    """Return what the page says where the harness of head cannot check."""
    if SOURCE == "live" or not rebuilt_operators() or interpreting("head"):
        return []
    return [f"No kernel was run under Triton's interpreter: {config['head']} has no {INTERPRET}."]
