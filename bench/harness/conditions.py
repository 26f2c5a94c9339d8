"""Checks that PHP runs under the same conditions in every peer."""

from __future__ import annotations

from typing import Any

from bench.harness import phpini


def unfair(name: str, found: dict[str, Any], wanted_ini: dict[str, str]) -> str | None:
    """Returns why a comparison with this peer would be meaningless, or None."""
    wants_opcache = not phpini.same_value(wanted_ini.get("opcache.enable", "0"), "0")
    if found["opcache"] != wants_opcache:
        return f"{name}: OPcache is {'on' if found['opcache'] else 'off'}"
    if found["jit"] and phpini.same_value(wanted_ini.get("opcache.jit", "off"), "off"):
        return f"{name}: JIT is on"
    return None


def differences(
    name: str, found: dict[str, Any], wanted_ini: dict[str, str], first: dict[str, Any] | None
) -> list[str]:
    """Returns one line for each relevant condition that differs.

    `first` contains the conditions of the run's first peer; its PHP and extensions are the norm.
    """
    lines = []
    for key, wanted in wanted_ini.items():
        value = found["ini"].get(key)
        if value is False or not phpini.same_value(wanted, value):
            lines.append(f"{name}: php.ini {key} is {value!r} instead of {wanted!r}")
    if first is not None:
        if found["php"] != first["php"]:
            lines.append(f"{name}: PHP {found['php']} instead of {first['php']}")
        if found["zts"] != first["zts"]:
            kind = {False: "without threads (NTS)", True: "with threads (ZTS)"}
            lines.append(f"{name}: PHP is built {kind[found['zts']]}")
        missing = sorted(extension_set(first) - extension_set(found))
        more = sorted(extension_set(found) - extension_set(first))
        if missing:
            lines.append(f"{name}: lacks the extensions {', '.join(missing)}")
        if more:
            lines.append(f"{name}: has the extensions {', '.join(more)} on top")
    return lines


def extension_set(found: dict[str, Any]) -> set[str]:
    """Returns the extensions except those of a SAPI (cgi-fcgi, howdah …)."""
    sapi = {found["sapi"], "cgi-fcgi", "cli_server", "readline"}
    return {name for name in found["extensions"] if name not in sapi}
