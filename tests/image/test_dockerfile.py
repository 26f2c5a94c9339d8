"""The reader of Dockerfiles."""

import tempfile
import unittest
from pathlib import Path

from dockerfile import expand, parse

TEXT = """# syntax=docker/dockerfile:1
ARG BASE=bookworm
FROM debian:${BASE}-slim AS build
RUN one && \\
    # between
    two
FROM scratch
COPY --from=build --chown=33:33 a b /
CMD ["howdah", "run it"]
ENV A=1 \\
    B="two words"
"""


class Parse(unittest.TestCase):
    """Stages, options, continued lines."""

    def setUp(self) -> None:
        """Reads the text."""
        with tempfile.NamedTemporaryFile("w", suffix=".Dockerfile") as file:
            file.write(TEXT)
            file.flush()
            self.arguments, self.stages = parse(Path(file.name))

    def test_stages(self) -> None:
        self.assertEqual(self.arguments, {"BASE": "bookworm"})
        self.assertEqual([stage.name for stage in self.stages], ["build", ""])
        self.assertEqual(expand(self.stages[0].base, self.arguments), "debian:bookworm-slim")
        self.assertEqual(self.stages[0].instructions[0].text.split(), ["one", "&&", "two"])

    def test_words(self) -> None:
        copy, command, environment = self.stages[1].instructions
        self.assertEqual(copy.options, ["--from=build", "--chown=33:33"])
        self.assertEqual(copy.words(), ["a", "b", "/"])
        self.assertEqual(command.words(), ["howdah", "run it"])
        self.assertEqual(environment.words(), ["A=1", "B=two words"])

    def test_unknown_names_are_empty(self) -> None:
        self.assertEqual(expand("$A-${B}-$C", {"A": "1", "B": "2"}), "1-2-")


if __name__ == "__main__":
    unittest.main()
