"""Symfony: see app/ for the application and harness/framework.py for the walk."""

from __future__ import annotations

from harness import framework
from harness.client import Browser

RULES = framework.RULES
WORKER = "index.php"
# The session service sets session.* in its constructor, once for all requests of the worker.
WORKER_KEEP = "session"


def walk(b: Browser) -> None:
    framework.walk(b, "Symfony")
