#!/usr/bin/env python3
"""Checks the compose files against the Compose specification's rules that matter here, without Docker: each service has
an image, what it depends on exists and has a health check, named volumes are declared, variables have a default or a
message."""

import re
import sys
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parents[2] / "packaging/docker/compose"
SERVICE = {
    "build",
    "command",
    "depends_on",
    "environment",
    "healthcheck",
    "image",
    "ports",
    "restart",
    "stop_grace_period",
    "volumes",
}


def problems(compose: dict[str, Any], text: str) -> list[str]:
    """Returns the problems of a file."""
    found = [f"{key}: not a key of Compose" for key in compose.keys() - {"services", "volumes"}]
    services: dict[str, dict[str, Any]] = compose["services"]
    for name, service in services.items():
        found += [f"{name}: {key} is unknown" for key in service.keys() - SERVICE]
        if "image" not in service:
            found.append(f"{name}: no image")
        for other, how in service.get("depends_on", {}).items():
            if "healthcheck" not in services.get(other, {}) or how != {"condition": "service_healthy"}:
                found.append(f"{name}: waits for {other}, which has no health check")
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if not source.startswith(".") and source not in compose.get("volumes", {}):
                found.append(f"{name}: the volume {source} is not declared")
        for value in service.get("environment", {}).values():
            if not isinstance(value, str):
                found.append(f"{name}: {value!r} needs quotes")
    found += [f"${{{name}}}: neither a default nor a message" for name in re.findall(r"\$\{(\w+)\}", text)]
    return found


def main() -> None:
    """Checks all of them."""
    files = sorted(FOLDER.glob("*.yaml"))
    failed = [] if files else [f"{FOLDER}: no files"]
    for file in files:
        text = file.read_text()
        failed += [f"{file.name}: {problem}" for problem in problems(yaml.safe_load(text), text)]
    if failed:
        sys.exit("\n".join(failed))
    print(f"{len(files)} compose files are well formed")


if __name__ == "__main__":
    main()
