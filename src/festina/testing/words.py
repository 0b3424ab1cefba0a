"""Words: sentences that can be read, equations that can be set, presets that can be run, claims that stand alone."""

import re
from collections.abc import Iterator, Sequence

from festina.claims import Claim
from festina.experiment import Experiment
from festina.model import Equation, Preset

LONGEST = 200  # characters of a sentence
SHORTEST = 20
LONGEST_NAME = 30
POINTING = re.compile(
    r"(It|Its|They|Their|Them|This|That|These|Those|Such|So|Here|There|Then|Thus|Also|But|And|Or|Likewise|Neither|"
    r"The same|The others?|Others|Both do|All do|None do)\b"
)
ECHOING = re.compile(r"\b(as well|too|likewise|the same|so)\.?$|\bdo so\b|\bdoes so\b")


def word_findings(equations: Sequence[Equation], presets: Sequence[Preset]) -> Iterator[str]:
    """What is wrong with equations and presets."""
    for sentence in (each.sentence for each in (*equations, *presets)):
        yield from _sentence_findings(sentence)
    for equation in equations:
        if unbalanced(equation.tex):
            yield f"equation {equation.tex!r} has {unbalanced(equation.tex)} that do not match"
    names = [preset.name for preset in presets]
    if len(set(names)) < len(names):
        yield f"presets share a name: {names}"
    yield from (
        f"preset {name!r} needs a name of 1 to {LONGEST_NAME} characters"
        for name in names
        if not 0 < len(name) <= LONGEST_NAME
    )


def preset_findings(experiment: Experiment) -> Iterator[str]:
    """Presets that are no configurations of their own."""
    seen = set()
    for preset in experiment.presets:
        config, usual = (experiment.configure(preset.budget, **fields) for fields in (preset.fields, {}))
        changed = {name for name in type(config).model_fields if getattr(config, name) != getattr(usual, name)}
        if changed != set(preset.fields):
            yield f"preset {preset.name!r} names fields that it does not change: {set(preset.fields) - changed}"
        if (preset.budget, config) in seen:
            yield f"preset {preset.name!r} is the same as another"
        seen.add((preset.budget, config))


def claim_findings(claims: Sequence[Claim]) -> Iterator[str]:
    """Claims that cannot be read alone, or be told apart."""
    if len({claim.id for claim in claims}) < len(claims):
        yield "two claims have one name"
    for claim in claims:
        for finding in _sentence_findings(claim.statement):
            yield f"claim {claim.id!r}: {finding}"
        if leans(claim.statement):
            yield f"claim {claim.id!r} leans on another sentence: {claim.statement!r}"


def leans(sentence: str) -> bool:
    """Whether a sentence begins with a word that points back, or ends with one that echoes another sentence.

    Example:
        >>> leans("So does a network, mode by mode."), leans("A network learns mode by mode.")
        (True, False)
    """
    return bool(POINTING.match(sentence) or ECHOING.search(sentence.removesuffix(".")))


def _sentence_findings(sentence: str) -> Iterator[str]:
    if not sentence or not sentence.endswith(".") or sentence[0].islower():
        yield f"{sentence!r} is no whole sentence"
    if not SHORTEST <= len(sentence) <= LONGEST:
        yield f"a sentence has {SHORTEST} to {LONGEST} characters, but {len(sentence)}: {sentence!r}"


def unbalanced(tex: str) -> str:
    """What does not come in pairs, in a word; empty if all does."""
    bare = tex.replace(r"\{", "").replace(r"\}", "")
    depths = list(_depths(bare))
    pairs = {
        "braces": min(depths, default=0) >= 0 and bare.count("{") == bare.count("}"),
        "left and right": _count(r"\\left", tex) == _count(r"\\right", tex),
        "big brackets": _count(r"\\[bB]igg?l", tex) == _count(r"\\[bB]igg?r", tex),
        "environments": re.findall(r"\\begin{(\w+)}", tex) == re.findall(r"\\end{(\w+)}", tex),
    }
    return next((name for name, balanced in pairs.items() if not balanced), "")


def _depths(tex: str) -> Iterator[int]:
    depth = 0
    for letter in tex:
        depth += (letter == "{") - (letter == "}")
        yield depth


def _count(command: str, tex: str) -> int:
    """How often a command occurs, not counting longer ones that begin with it, such as \\leftarrow."""
    return len(re.findall(command + r"(?![a-zA-Z])", tex))
