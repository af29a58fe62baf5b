"""Shows that check_layers.py can fail: an upward, a sideways and a relative include, an unknown room."""
import unittest

import support


class Layers(support.SampleTree):
    def check(self, name: str, include: str) -> tuple[int, str]:
        self.write(f"src/{name}", f'// A sample file.\n#include "{include}"\n')
        return self.run_tool("check_layers.py", self.root / "src")

    def test_accepts_what_the_table_allows(self):
        for name, include in [
            ("decision/a.cc", "base/result.h"),
            ("server/a.cc", "pipeline/b.h"),
            ("apps/a.cc", "store/store.h"),
            ("decision/a_test.cc", "base/testing/alloc_counter.h"),
        ]:
            status, output = self.check(name, include)
            self.assertEqual(status, 0, output)

    def test_refuses_what_the_table_forbids(self):
        for name, include in [
            ("base/a.cc", "decision/money.h"),
            ("decision/a.h", "store/store.h"),
            ("decision/a_test.cc", "store/store.h"),
            ("server/a.cc", "store/store.h"),
            ("engine/a.cc", "decision/money.h"),
            ("pipeline/a.cc", "apps/wiring.h"),
            ("base/a.cc", "../decision/money.h"),
            ("base/a.cc", "result.h"),
            ("base/a.cc", "boost/asio.hpp"),
            ("decision/a.cc", "base/testing/alloc_counter.h"),
            ("attic/a.cc", "base/result.h"),
        ]:
            with self.subTest(name=name, include=include):
                status, output = self.check(name, include)
                self.assertEqual(status, 1, output)
                self.assertIn(name, output)
                (self.root / "src" / name).unlink()

    def test_an_empty_tree_is_no_success(self):
        (self.root / "src").mkdir()
        self.assertEqual(self.run_tool("check_layers.py", self.root / "src")[0], 1)


if __name__ == "__main__":
    unittest.main()
