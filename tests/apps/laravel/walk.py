"""Laravel: see app/ for the application and harness/framework.py for the walk."""

from __future__ import annotations

from harness import framework
from harness.client import Browser

RULES = framework.RULES
PACKAGES = ("php-laravel-framework",)
# Octane's own script, which setup.sh copies where HOWDAH_OCTANE names a checkout of laravel/octane 2.
WORKER = "frankenphp-worker.php"
# Octane boots the application in the first request, and restores changes of requests itself.
WORKER_KEEP = "all"
WORKER_NEEDS = "HOWDAH_OCTANE"
# The boot in the first request; and what Symfony's response sets for a download, which `keep` keeps.
WORKER_ALLOW = ("ini setting", "error handler", "exception handler", "autoloader", "time zone")


def walk(b: Browser) -> None:
    framework.walk(b, "Laravel")
