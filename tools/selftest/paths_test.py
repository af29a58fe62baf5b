"""Shows that check_paths.py can fail: folders of one machine and registry hosts are found, others are not."""
import unittest

import support


class Paths(support.SampleTree):
    def check(self, text: str) -> tuple[int, str]:
        self.write("notes.md", text)
        return self.run_tool("check_paths.py", self.root)

    def test_finds_machine_folders_and_hosts(self):
        for text in ["see /wo" + "rk/main/x", "HOME=/ro" + "ot/", "in /tmp/" + "b-house", "https://pypi" + ".org/x"]:
            with self.subTest(text=text):
                status, output = self.check(f"first line\n{text}\n")
                self.assertEqual(status, 1, output)
                self.assertIn("notes.md:2", output)

    def test_lets_other_paths_be(self):
        for text in ["src/work/x.h", "/var/lib/tollgate", "frame" + "work/x", "${dir}/work/"]:
            with self.subTest(text=text):
                self.assertEqual(self.check(text)[0], 0)

    def test_an_empty_tree_is_no_success(self):
        self.assertEqual(self.run_tool("check_paths.py", self.root)[0], 1)


if __name__ == "__main__":
    unittest.main()
