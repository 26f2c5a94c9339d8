#!/usr/bin/env python3
"""Runs packaging/docker/Dockerfile, instruction by instruction, in roots of its own, then the server as a container
would run it. For machines without Docker, so root is needed:

    tests/image/run.py --packages target/deb     # the last stage, with packages that `make deb` has built
    tests/image/run.py --from-source             # all stages
    tests/image/run.py --build-arg DEBIAN=trixie --build-arg PHP=8.4 --packages FOLDER

`--from-source` compiles without optimisation, which takes minutes less. `--offline` lends the first stage the Rust and
the crates of this machine, for which it otherwise needs a network. Networks, limits and the file system of a container
are not a part of it.
"""

import argparse
import fnmatch
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dockerfile import Instruction, Stage, expand, parse

REPOSITORY = Path(__file__).resolve().parents[2]
DOCKERFILE = REPOSITORY / "packaging/docker/Dockerfile"
IGNORED = REPOSITORY / "packaging/docker/Dockerfile.dockerignore"
MIRROR = "http://deb.debian.org/debian"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The slow parts of the release profile.
UNOPTIMISED = {
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
    "CARGO_PROFILE_RELEASE_DEBUG": "false",
}
PAGE = "<?php echo 'served by PHP ', PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION, ' as ', posix_geteuid();"


@dataclass
class Image:
    """A root, and the state that the instructions so far have set."""

    root: Path
    # Roots of the previous stages, by their names.
    stages: Mapping[str, Path]
    environment: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0:0"
    command: list[str] = field(default_factory=list)
    check: list[str] = field(default_factory=list)
    stop: str = "SIGTERM"

    def chroot(self, words: list[str], user: str | None = None) -> list[str]:
        """Returns the command line that runs these words in the image."""
        number = int((user or self.user).split(":")[0])
        variables = {"PATH": PATH, "HOME": pwd.getpwuid(number).pw_dir, **self.arguments, **self.environment}
        return [
            "chroot",
            f"--userspec={user or self.user}",
            str(self.root),
            "/usr/bin/env",
            "-i",
            *(f"{name}={value}" for name, value in variables.items()),
            "sh",
            "-c",
            'cd "$0" && exec "$@"',
            self.folder,
            *words,
        ]

    def run(self, words: list[str], user: str | None = None) -> subprocess.CompletedProcess[str]:
        """Runs these words in the image."""
        return subprocess.run(self.chroot(words, user), text=True, capture_output=True, check=False)

    def apply(self, instruction: Instruction) -> None:
        """Executes the instruction; an unknown one is an error."""
        name, text = instruction.name, instruction.text
        values = {**self.arguments, **self.environment}
        match name:
            case "RUN":
                with self.mounts(instruction):
                    done = self.run(["sh", "-c", text])
                if done.returncode != 0:
                    sys.exit(f"RUN {text}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
            case "COPY":
                *sources, target = instruction.words()
                origin = self.origin(instruction)
                for pattern in sources:
                    found = sorted(origin.glob(pattern.lstrip("/"))) if pattern != "." else [origin]
                    if not found:
                        sys.exit(f"COPY {text}: {pattern} does not exist")
                    for source in found:
                        self.copy(source, target)
            case "ARG":
                key, _, value = text.partition("=")
                self.arguments.setdefault(key, value)
            case "ENV":
                for pair in instruction.words():
                    key, _, value = pair.partition("=")
                    self.environment[key] = expand(value, values)
            case "WORKDIR":
                self.folder = text
                (self.root / text.lstrip("/")).mkdir(parents=True, exist_ok=True)
            case "USER":
                self.user = text
            case "CMD":
                self.command = instruction.words()
            case "HEALTHCHECK":
                self.check = json.loads(text.removeprefix("CMD "))
            case "STOPSIGNAL":
                self.stop = text
            case "VOLUME":
                for folder in instruction.words():
                    if not (self.root / folder.lstrip("/")).is_dir():
                        sys.exit(f"VOLUME {folder}: the folder does not exist, so root would own it")
            case "LABEL" | "EXPOSE":
                pass
            case _:
                sys.exit(f"{name}: the test does not know this instruction")

    def origin(self, instruction: Instruction) -> Path:
        """Returns the source of `COPY`: the repository, or the stage that `--from` names."""
        for option in instruction.options:
            if not option.startswith("--from="):
                sys.exit(f"{option}: the test does not know this option")
            return self.stages[option.removeprefix("--from=")]
        return REPOSITORY

    def copy(self, source: Path, target: str) -> None:
        """Executes `COPY` of one file, or of the content of a folder."""
        place = self.root / self.folder.lstrip("/") / target if not target.startswith("/") else self.root / target[1:]
        if source.is_dir():
            shutil.copytree(source, place, symlinks=True, ignore=_ignored, dirs_exist_ok=True)
            return
        if target.endswith("/"):
            place = place / source.name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place)

    @contextmanager
    def mounts(self, instruction: Instruction) -> Iterator[None]:
        """`--mount=type=bind,from=packages,target=…`"""
        targets = []
        for option in instruction.options:
            settings = dict(pair.split("=", 1) for pair in option.removeprefix("--mount=").split(","))
            if settings.get("type") != "bind" or settings.get("from") not in self.stages:
                sys.exit(f"{option}: the test does not know this option")
            target = self.root / settings["target"].lstrip("/")
            targets.append(target)
            target.mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "--bind", str(self.stages[settings["from"]]), str(target)], check=True)
        try:
            yield
        finally:
            for target in targets:
                subprocess.run(["umount", str(target)], check=True)
                target.rmdir()


def _ignored(folder: str, names: list[str]) -> set[str]:
    """Returns the paths that the Dockerfile's .dockerignore excludes."""
    lines = IGNORED.read_text().splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    found: set[str] = set()
    for name in names:
        path = os.path.relpath(os.path.join(folder, name), REPOSITORY)
        for pattern in patterns:
            anywhere = pattern.removeprefix("**/")
            if fnmatch.fnmatch(path, pattern) or (anywhere != pattern and fnmatch.fnmatch(name, anywhere)):
                found.add(name)
    return found


@contextmanager
def lent_rust(root: Path) -> Iterator[None]:
    """Provides this machine's Rust and crates in a root."""
    home = Path.home()
    places = {
        Path(os.environ.get("CARGO_HOME", home / ".cargo")): root / "root/.cargo",
        Path(os.environ.get("RUSTUP_HOME", home / ".rustup")): root / "root/.rustup",
    }
    with ExitStack() as mounted:
        for source, place in places.items():
            place.mkdir(parents=True)
            subprocess.run(["mount", "--bind", str(source), str(place)], check=True)
            mounted.callback(subprocess.run, ["umount", "--lazy", str(place)], check=True)
        yield


@contextmanager
def root_of(work: Path, suite: str, name: str) -> Iterator[Path]:
    """Creates a minimal Debian like `debian:SUITE-slim`; removed afterwards."""
    root = work / name
    if root.exists():
        sys.exit(f"{root} exists: another run may use it")
    root.mkdir(parents=True)
    inner = [("proc", "proc"), ("dev", "/dev")]
    mounted: list[Path] = []
    bootstrap = ["debootstrap", "--variant=minbase", suite, str(root), MIRROR]
    try:
        subprocess.run(bootstrap, check=True, stdout=subprocess.DEVNULL)
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        (root / "etc/apt/sources.list").write_text(
            f"deb {MIRROR} {suite} main\ndeb {MIRROR} {suite}-updates main\n"
            f"deb {MIRROR}-security {suite}-security main\n"
        )
        for name, source in inner:
            kind = ["-t", "proc"] if source == "proc" else ["--bind"]
            subprocess.run(["mount", *kind, source, str(root / name)], check=True)
            mounted.append(root / name)
        yield root
    finally:
        for place in reversed(mounted):
            subprocess.run(["umount", "--lazy", str(place)], check=True)
        shutil.rmtree(root)


class Server:
    """The image's command, with a separate network."""

    def __init__(self, image: Image) -> None:
        self.image = image
        start = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh", *image.chroot(image.command)]
        self.log = image.root.parent / "server.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(["unshare", "--net", *start], stdout=log, stderr=log)

    def inside(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        """Runs these words in the server's network."""
        enter = ["nsenter", "--net", "--target", str(self.process.pid)]
        return subprocess.run([*enter, *words], text=True, capture_output=True, check=False)

    def wait_healthy(self) -> None:
        """Waits for the first success of the health check."""
        for _ in range(120):
            if self.inside(self.image.chroot(self.image.check)).returncode == 0:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.5)
        sys.exit(f"the server is not healthy:\n{self.log.read_text()}")

    def stop(self) -> int:
        """Stops it as Docker does; returns its exit code."""
        self.process.send_signal(signal.Signals[self.image.stop])
        return self.process.wait(60)


def expect(what: str, is_true: bool, shown: object = "") -> None:
    """Prints a passed check, or exits with the actual value."""
    if not is_true:
        sys.exit(f"{what}: {shown}")
    print(f"ok: {what}")


def check_server(image: Image, php: str) -> None:
    """Checks that the server starts, serves, and stops."""
    uid = int(image.user.split(":")[0])
    (image.root / "app/public/index.php").write_text(PAGE)
    server = Server(image)
    try:
        server.wait_healthy()
        print("ok: the health check succeeds")
        page = server.inside(["curl", "--silent", "--max-time", "10", "http://127.0.0.1:8080/a/page"]).stdout
        expect("the application is served", page == f"served by PHP {php} as {uid}", page)
        children = ["ps", "-o", "uid=", "--ppid", str(server.process.pid)]
        users = subprocess.run(children, text=True, capture_output=True, check=True)
        expect("no process is root", {int(line) for line in users.stdout.split()} == {uid}, users.stdout)
        code = server.stop()
        expect(f"{image.stop} stops it", code == 0, code)
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
    problems = [line for line in server.log.read_text().splitlines() if '"level":"error"' in line]
    expect("its log has no error", not problems, problems)


def check_extensions(image: Image) -> None:
    """Checks that Debian's extensions are installed by name, and others refused."""
    install = "install-php-extensions"
    done = image.run([install, "pdo_mysql", "exif", "redis"], "0:0")
    expect("extensions are installed", done.returncode == 0, done.stdout + done.stderr)
    modules = image.run(["howdah", "php-cli", "-m"]).stdout.split()
    expect("PHP has them", {"pdo_mysql", "exif", "redis"} <= set(modules), modules)
    for words, message in [
        (["redis-5.3.7"], "Debian has one version"),
        (["no_such"], "not packaged by this release of Debian"),
        (["user/repository@1"], "only names of extensions"),
    ]:
        refused = image.run([install, *words], "0:0")
        expect(f"{words[0]} is refused", refused.returncode == 1 and message in refused.stderr, refused.stderr)
    refused = image.run([install, "gd"])
    expect("root is needed", refused.returncode == 1 and "USER root" in refused.stderr, refused.stderr)


def run_stage(image: Image, stage: Stage) -> None:
    """Runs the instructions of a stage."""
    for instruction in stage.instructions:
        print(f"{stage.name}: {instruction.name} {instruction.text}"[:100], flush=True)
        image.apply(instruction)


def suite_of(stage: Stage, arguments: Mapping[str, str]) -> str:
    """Returns the Debian release below a stage."""
    return expand(stage.base, dict(arguments)).removeprefix("debian:").removesuffix("-slim")


def build_packages(work: Path, arguments: Mapping[str, str], stages: list[Stage], offline: bool) -> Path:
    """Runs the stages before the last one; returns their packages."""
    if not (REPOSITORY / ".git").is_dir():
        sys.exit(f"{REPOSITORY}: the first stage needs a clone, not a worktree")
    build, packages = stages
    target = work / "packages"
    with ExitStack() as stack:
        root = stack.enter_context(root_of(work, suite_of(build, arguments), "build"))
        environment = dict(UNOPTIMISED)
        if offline:
            stack.enter_context(lent_rust(root))
            environment |= {"CARGO_NET_OFFLINE": "true"}
        run_stage(Image(root, {}, environment, dict(arguments)), build)
        if packages.base != "scratch":
            sys.exit(f"FROM {packages.base}: the test expects the stage {packages.name} to be from scratch")
        target.mkdir()
        run_stage(Image(target, {build.name: root}), packages)
    print(f"ok: the first stages give {', '.join(sorted(file.name for file in target.iterdir()))}", flush=True)
    return target


def build_argument(text: str) -> tuple[str, str]:
    """Parses NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text}: write NAME=VALUE")
    return name, value


def main() -> None:
    """Creates the roots and runs all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, default=REPOSITORY / "target/deb", help="the Debian packages")
    parser.add_argument("--from-source", action="store_true", help="build the packages as the Dockerfile does")
    parser.add_argument("--offline", action="store_true", help="with the Rust and the crates of this machine")
    parser.add_argument("--work", type=Path, default=Path("/var/tmp/howdah-image"), help="where roots are made, 6 GB")
    parser.add_argument(
        "--build-arg", type=build_argument, action="append", default=[], metavar="NAME=VALUE", help="as of docker build"
    )
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("root is needed: chroot and mount")
    arguments, stages = parse(DOCKERFILE)
    for name, value in options.build_arg:
        if name not in arguments:
            sys.exit(f"--build-arg {name}: the Dockerfile has no such argument, only {', '.join(arguments)}")
        arguments[name] = value
    packages: Path = options.packages.resolve()
    if options.from_source:
        packages = build_packages(options.work, arguments, stages[:-1], options.offline)
    if not list(packages.glob("howdah*.deb")):
        sys.exit(f"{packages}: no packages; run make deb")
    stage = stages[-1]
    with root_of(options.work, suite_of(stage, arguments), "root") as root:
        image = Image(root, {"packages": packages}, arguments=dict(arguments))
        run_stage(image, stage)
        check_server(image, arguments["PHP"])
        check_extensions(image)
    if options.from_source:
        shutil.rmtree(packages)


if __name__ == "__main__":
    main()
