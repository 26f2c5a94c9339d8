"""Parses the instructions of a Dockerfile that ours uses."""

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Instruction:
    """One instruction with its options (`--mount=…`)."""

    name: str
    options: list[str]
    text: str

    def words(self) -> list[str]:
        """Returns the arguments: a JSON array, or words."""
        if self.text.startswith("["):
            return [str(word) for word in json.loads(self.text)]
        return shlex.split(self.text)


@dataclass
class Stage:
    """The instructions from one `FROM` to the next."""

    base: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)


def _lines(text: str) -> list[str]:
    """Logical lines: without comments, continued ones joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    return [line.strip() for line in joined.splitlines() if line.strip()]


def parse(path: Path) -> tuple[dict[str, str], list[Stage]]:
    """Returns the arguments before the first stage, and the stages."""
    arguments: dict[str, str] = {}
    stages: list[Stage] = []
    for line in _lines(path.read_text()):
        name, _, rest = line.partition(" ")
        name = name.upper()
        rest = rest.strip()
        options: list[str] = []
        while rest.startswith("--"):
            option, _, rest = rest.partition(" ")
            options.append(option)
            rest = rest.strip()
        if name == "FROM":
            words = rest.split()
            stages.append(Stage(words[0], words[2] if len(words) > 2 else ""))
        elif not stages and name == "ARG":
            key, _, value = rest.partition("=")
            arguments[key] = value
        else:
            stages[-1].instructions.append(Instruction(name, options, rest))
    return arguments, stages


def expand(text: str, values: dict[str, str]) -> str:
    """Expands `$NAME` and `${NAME}` like Docker; unknown names are empty."""
    return re.sub(r"\$\{?(\w+)\}?", lambda found: values.get(found[1], ""), text)
