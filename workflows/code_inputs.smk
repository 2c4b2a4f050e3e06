# Which operators' code is compared, and where the builds and launches of each revision are.


def code_operators():
    """Return the operators of which both revisions have builds that may differ.

    Where kernels can be compiled here, those whose source differs; else those whose recorded
    builds are other files.
    """
    if can_compile():
        return changed_operators()
    before, after = recorded()
    wanted = set(config["operators"] or KNOWN_OPERATORS)
    return [
        name
        for name in sorted(set(before) & set(after) & wanted & set(KNOWN_OPERATORS))
        if "build" in before[name]
        and "build" in after[name]
        and before[name]["build"] != after[name]["build"]
    ]


def build_capture(name, operator):
    """Return the folder of the build of an operator that is compared."""
    if name == "worktree":
        above = f"{RESULTS}/captures" if can_compile() else CAPTURES
        return f"{above}/{operator}/build"
    if can_compile():
        return f"results/{name}/captures/{operator}/build"
    return f"results/{name}/{GPU}/recorded/{operator}/build"


def code_captures(wildcards):
    """Return the build captures of base and head in turn, an operator after another."""
    return [
        build_capture(name, operator)
        for operator in code_operators()
        for name in (wildcards.base, wildcards.head)
    ]


def launch_folders(wildcards):
    """Return the folders of frames of base and head in turn, an operator after another."""
    return [
        f"{frames_folder(wildcards, side)}/{operator}"
        for operator in compared_operators()[0]
        for side in ("base", "head")
    ]


def launch_frames(wildcards):
    """Return what holds the counters of base and head: of a commit, a folder of frames."""
    return [
        f"{folder}/counters.parquet" if folder.startswith(f"{RESULTS}/") else folder
        for folder in launch_folders(wildcards)
    ]


def code_notes():
    """Return what the page says of where builds come from, and what is left out."""
    how = (
        "Builds are of this machine's toolchain, of operators whose source differs."
        if can_compile()
        else f"Builds are those that were recorded on {GPU}: torch and Triton are not here."
    )
    return [how, *diff_notes()]
