"""A separate root above this machine's: installations in it change nothing outside.

The root is an overlay over `/`. Its changes are in a folder that stays for the next run. Needs
root's rights.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# It runs in a separate mount namespace, so that the overlay disappears with its last process, and
# in a separate process namespace, so that no process outlives it.
ENTER = r"""
set -eu
top=$1 repository=$2; shift 2
mkdir -p "$top/changes" "$top/work" "$top/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$top/changes,workdir=$top/work" "$top/root"
mount --rbind /dev "$top/root/dev"
mount --rbind /sys "$top/root/sys"
mount -t proc proc "$top/root/proc"
mount --bind "$repository" "$top/root$repository"
if [ "$(ip -o link | wc -l)" = 1 ]; then ip link set lo up; fi
exec chroot "$top/root" sh -c 'cd "$1"; shift; exec "$@"' sh "$repository" "$@"
"""


@dataclass(frozen=True)
class Root:
    """Place of the overlay, and the parts of the repository in it."""

    top: Path
    repository: Path

    def command(self, arguments: Sequence[str], *, online: bool) -> list[str]:
        """Returns a command that runs another one inside, with the network or only a loopback."""
        net = [] if online else ["--net"]
        enter = ["sh", "-c", ENTER, "sh", str(self.top), str(self.repository)]
        return [
            "setpriv",
            "--pdeathsig",
            "KILL",
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            *net,
            *enter,
            *arguments,
        ]

    def run(self, arguments: Sequence[str], *, online: bool) -> int:
        """Runs a command inside and returns its exit status."""
        return subprocess.run(self.command(arguments, online=online), check=False).returncode
