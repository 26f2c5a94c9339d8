"""A user's application as a case: `run --app DIR`, without a configuration."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.harness.cases import CONTRACTS, PROBE, PROBE_PATH, Case, Check, Site
from bench.harness.errors import BenchError
from bench.harness.server import web_user

if TYPE_CHECKING:
    from pathlib import Path

    from bench.harness.http_check import Answer
    from bench.harness.peers import Peer
    from bench.harness.services import Services

NAME = "app"
FRONT_CONTROLLER = "index.php"
# Document roots of frameworks. The first with a front controller is used.
ROOTS = (".", "public", "web", "webroot", "htdocs", "www")
# Tokens, dates and durations in a page change its length slightly.
LENGTH_TOLERANCE = 0.05
LENGTH_SLACK = 256
OK, NO_LONGER_OK = 200, 300


@dataclass(frozen=True)
class LooseCheck(Check):
    """A check of unknown responses: 2xx, and a text or about the first response's length."""

    expect: str = ""
    lengths: list[int] = field(default_factory=list)

    def differences(self, answer: Answer) -> list[str]:
        """Returns how a response differs; the first valid one sets the length of the others."""
        found = []
        if not OK <= answer.status < NO_LONGER_OK:
            found.append(f"status {answer.status} instead of 2xx")
        elif self.expect:
            if self.expect.encode() not in answer.body:
                found.append(f"{self.expect!r} is not in the {len(answer.body)} bytes of the body")
        elif not self.lengths:
            self.lengths.append(len(answer.body))
        elif not similar(len(answer.body), self.lengths[0]):
            found.append(
                f"{len(answer.body)} bytes where the first server gave {self.lengths[0]}; if that "
                f"is right, name a text of the page: --expect TEXT"
            )
        return found

    def slack(self, length: int) -> float:
        """Returns by how many bytes a response may differ; with a text, by any number."""
        return float("inf") if self.expect else slack_of(length)


def slack_of(length: int) -> float:
    """Returns by how much two responses of one page differ."""
    return max(LENGTH_SLACK, length * LENGTH_TOLERANCE)


def similar(length: int, norm: int) -> bool:
    """Whether two bodies have about the same length."""
    return abs(length - norm) <= slack_of(norm)


@dataclass(frozen=True)
class Application(Case):
    """A user's application in the folder `files`; a copy of it is served."""

    def refusal(self, peer: Peer) -> str | None:
        """Returns why it does not support that peer, or None."""
        if peer.contract == "classic":
            return None
        if peer.contract == "frankenphp":
            return None if self.worker else "needs a worker script: --worker-script FILE"
        return "an application runs there with a script of its own only"

    def install(self, target: Path, _services: Services) -> Site:
        """Copies it to `target`, so that servers write only to the copy."""
        app = target / NAME
        ignored = shutil.ignore_patterns(".git", "node_modules")
        try:
            shutil.copytree(self.files, app, symlinks=True, ignore=ignored)
        except (OSError, shutil.Error) as error:
            raise BenchError(f"{self.files} cannot be copied: {error}") from error
        if os.geteuid() == 0:
            # Apache refuses to serve as root.
            user, group = web_user()
            for path in (app, *app.rglob("*")):
                if not path.is_symlink():
                    shutil.chown(path, user, group)
        shutil.copytree(CONTRACTS, target / "contracts")
        docroot = app / self.root
        shutil.copy(PROBE, docroot / PROBE_PATH.lstrip("/"))
        return Site(target, docroot, app / (self.worker or self.root), self, {})


def find_root(folder: Path, wanted: str | None) -> str:
    """Finds the document root in an application's folder.

    Raises:
        BenchError: no folder has a front controller.
    """
    places = ROOTS if wanted is None else (wanted,)
    for place in places:
        if (folder / place / FRONT_CONTROLLER).is_file():
            return place
    looked = ", ".join(places)
    raise BenchError(f"no {FRONT_CONTROLLER} in {folder} (looked in {looked}); try: --root FOLDER")


def application(  # noqa: PLR0913  as many as the command line has
    folder: Path,
    *,
    path: str,
    root: str | None = None,
    expect: str = "",
    worker: str = "",
    length: int | None = None,
) -> Application:
    """Creates a case of it; `length` is that of the first response of a resumed run.

    Raises:
        BenchError: the application does not exist, or the path is invalid.
    """
    folder = folder.expanduser().resolve()
    if not path.startswith("/"):
        raise BenchError(f"--path {path}: a path begins with a slash")
    if worker and not (folder / worker).is_file():
        raise BenchError(f"--worker-script {worker}: there is no such file in {folder}")
    check = LooseCheck(OK, "", "", expect, [] if length is None else [length])
    return Application(
        name=NAME,
        title=f"{folder.name}: {path}",
        about="An application of the user's, served from a copy.",
        files=folder,
        root=find_root(folder, root),
        path=path,
        check=check,
        worker=worker,
    )
