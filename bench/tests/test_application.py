"""A user's application, and servers that run already."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

from bench.harness.application import LooseCheck, application
from bench.harness.cases import PROBE_PATH
from bench.harness.cli import main
from bench.harness.errors import BenchError
from bench.harness.http_check import Answer
from bench.harness.load import Wrk
from bench.harness.peers import load_peers
from bench.harness.results import load_run
from bench.harness.running import ask
from bench.tests.fixtures import serve_until_done


def answer(body: bytes, status: int = 200) -> Answer:
    """Returns a response with that body."""
    return Answer(status, "text/html", body, len(body) + 100, len(body))


class CheckTest(unittest.TestCase):
    """Which responses of an unknown application are valid."""

    def test_lengths_are_about_that_of_the_first_answer(self) -> None:
        check = LooseCheck(200, "", "")
        self.assertEqual(check.differences(answer(b"x" * 10_000)), [])
        self.assertEqual(check.differences(answer(b"y" * 10_400)), [])
        self.assertIn("--expect", check.differences(answer(b"x" * 11_000))[0])
        self.assertIn("status 500", check.differences(answer(b"x" * 10_000, 500))[0])

    def test_a_failure_sets_no_length(self) -> None:
        check = LooseCheck(200, "", "")
        self.assertEqual(len(check.differences(answer(b"error", 503))), 1)
        self.assertEqual(check.differences(answer(b"x" * 10_000)), [])

    def test_an_expected_text_decides_alone(self) -> None:
        check = LooseCheck(200, "", "", "Shop")
        self.assertEqual(check.differences(answer(b"the Shop" + b"x" * 9_000)), [])
        self.assertEqual(check.differences(answer(b"the Shop")), [])
        self.assertIn("'Shop' is not in", check.differences(answer(b"the shop"))[0])


class ApplicationTest(unittest.TestCase):
    """The case that is created from a folder."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.folder = self.scratch / "shop"
        (self.folder / "public").mkdir(parents=True)
        (self.folder / ".git").mkdir()
        (self.folder / "public" / "index.php").write_text("<?php echo 'shop';")
        (self.folder / "worker.php").write_text("<?php")

    def test_a_copy_is_served_from_its_public_folder(self) -> None:
        case = application(self.folder, path="/cart?x=1", worker="worker.php")
        site = case.install(self.scratch / "site", mock.Mock())
        self.assertEqual(site.docroot.name, "public")
        self.assertTrue((site.docroot / PROBE_PATH.lstrip("/")).is_file())
        self.assertTrue(site.worker_script.is_file())
        self.assertFalse((self.scratch / "site" / "app" / ".git").exists())
        self.assertEqual(site.values()["url_path"], "/cart")
        # The folder is unchanged.
        self.assertEqual([one.name for one in (self.folder / "public").iterdir()], ["index.php"])

    def test_worker_mode_needs_a_script(self) -> None:
        peers = load_peers()
        without = application(self.folder, path="/")
        script = application(self.folder, path="/", worker="worker.php")
        self.assertIsNone(without.refusal(peers["nginx-fpm"]))
        self.assertIn("--worker-script", without.refusal(peers["howdah-worker"]) or "")
        self.assertIsNone(script.refusal(peers["howdah-worker"]))
        self.assertIsNotNone(script.refusal(peers["php-loop"]))
        self.assertIsNotNone(script.refusal(peers["swoole"]))

    def test_what_cannot_be_served_is_refused(self) -> None:
        with self.assertRaisesRegex(BenchError, "no index.php"):
            application(self.folder, path="/", root="web")
        with self.assertRaisesRegex(BenchError, "begins with a slash"):
            application(self.folder, path="cart")
        with self.assertRaisesRegex(BenchError, "no such file"):
            application(self.folder, path="/", worker="none.php")

    def test_the_command_line_says_what_does_not_go_together(self) -> None:
        for arguments in (
            ["run", "--app", str(self.folder), "--case", "hello", "--rate", "0"],
            ["run", "--url", "http://127.0.0.1/", "--app", str(self.folder)],
        ):
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(main(arguments), 1)
            self.assertIn("leave --", said.getvalue())


class Page(BaseHTTPRequestHandler):
    """Responds to everything on persistent connections."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"page {self.path}".encode()
        self.send_response(404 if self.path == "/none" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Logs nothing."""


class RunningTest(unittest.TestCase):
    """`run --url`."""

    def setUp(self) -> None:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
        self.url = f"http://127.0.0.1:{server.server_port}"
        serve_until_done(self, server)

    def test_one_request(self) -> None:
        found, closes = ask(f"{self.url}/a?b=1")
        self.assertEqual((found.status, found.body, closes), (200, b"page /a?b=1", False))
        for url in ("127.0.0.1:80", "ftp://127.0.0.1/"):
            with self.assertRaisesRegex(BenchError, "whole address"):
                ask(url)

    @unittest.skipUnless(shutil.which("wrk"), Wrk.hint)
    def test_a_run_has_speed_and_latency_but_no_cpu_time(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "run"
            options = ["--connections", "1", "--duration", "1", "--rounds", "1", "--out", str(out)]
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                done = main(["run", "--url", f"{self.url}/", "--expect", "page", *options])
            run = load_run(out)
            self.assertEqual((done, run.problems()), (0, []))
            self.assertIsNotNone(run.cell("url-1", "url", 1, "rps"))
            self.assertIsNone(run.cell("url-1", "url", 1, "cpu"))
            self.assertTrue((out / "report.html").is_file())

    def test_a_wrong_answer_is_not_measured(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            out = ["--out", str(Path(scratch) / "run")]
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(main(["run", "--url", f"{self.url}/none", *out]), 1)
            self.assertIn("status 404", said.getvalue())


if __name__ == "__main__":
    unittest.main()
