"""Slim 3: see app/ for the application and harness/framework.py for the walk."""

from __future__ import annotations

from harness import framework
from harness.client import Browser

RULES = framework.RULES
PACKAGES = ("php-slim",)
WORKER = "index.php"


def walk(b: Browser) -> None:
    framework.walk(b, "Slim 3")
