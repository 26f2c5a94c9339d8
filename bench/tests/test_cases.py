"""The repository's cases: they are the workloads that their names describe."""

from __future__ import annotations

import re
import unittest

from bench.harness.cases import CASES, HANDLER, load_cases


class CasesTest(unittest.TestCase):
    """Tests cases of bench/cases."""

    def test_each_has_the_page_that_is_asked_for(self) -> None:
        for name in ("redis", "redis-cache", "redis-session", "statements"):
            case = load_cases()[name]
            page = case.path.removeprefix("/")
            own = CASES / name / case.root / page
            self.assertTrue(own.is_file() or (case.files / case.root / page).is_file(), name)
            self.assertTrue((case.files / HANDLER).is_file(), name)

    def test_ten_statements_are_of_every_kind(self) -> None:
        page = (CASES / "statements" / "www" / "index.php").read_text()
        sent = re.findall(r"\$rows\(\s*'(.+?)'", page)
        self.assertEqual(len(set(sent)), 10)
        kinds = [statement.split()[0] for statement in sent]
        self.assertEqual([kinds.count(kind) for kind in ("SELECT", "INSERT", "UPDATE")], [8, 1, 1])
        self.assertEqual(sum("count(*)" in statement for statement in sent), 2)
        self.assertEqual(sum("ORDER BY" in statement for statement in sent), 3)
        # The response is the same before and after the write.
        for table in ("visit", "popularity"):
            found = [one for one in sent if re.search(rf"\b{table}\b", one)]
            self.assertEqual(len(found), 1, found)

    def test_halves_of_redis_share_its_files(self) -> None:
        known = load_cases()
        for half in ("redis-cache", "redis-session"):
            self.assertEqual(known[half].files, CASES / "redis")
            part = f"{half.removeprefix('redis-')}.php"
            for page in (CASES / half / "www" / "index.php", CASES / "redis/www/index.php"):
                self.assertIn(f"'/{part}'", page.read_text())


if __name__ == "__main__":
    unittest.main()
