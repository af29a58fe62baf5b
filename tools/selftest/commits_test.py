"""Shows that check_commits.py can fail, on messages and on a real history."""
import subprocess
import unittest

import support

GOOD = "store: write the decision before the reply\n\nA kill -9 lost the last answer.\n"


class Commits(support.SampleTree):
    def check(self, message: str) -> tuple[int, str]:
        return self.run_tool("check_commits.py", "-", stdin=message)

    def test_accepts_the_form(self):
        self.assertEqual(self.check(GOOD)[0], 0)

    def test_refuses_other_forms(self):
        for message, word in [
            ("Fix bug\n\nBecause.\n", "area"),
            ("store: " + "x" * 66 + "\n\nBecause.\n", "73"),
            ("store: a thing.\n\nBecause.\n", "full stop"),
            ("store: a thing\nno empty line\n", "second line"),
            ("store: a thing\n", "no body"),
            ("store: a thing\n\nSeen in /wo" + "rk/main.\n", "machine"),
        ]:
            with self.subTest(message=message):
                status, output = self.check(message)
                self.assertEqual(status, 1, output)
                self.assertIn(word, output)

    def test_reads_a_history(self):
        git = ["git", "-C", str(self.root), "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        subprocess.run([*git, "init", "-q"], check=True)
        for message in (GOOD, "oops"):
            subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", message], check=True)
        status, output = self.run_tool("check_commits.py", self.root, "HEAD")
        self.assertEqual(status, 1, output)
        self.assertIn("2 messages, 2 faults", output)

    def test_an_unknown_range_is_no_success(self):
        self.assertEqual(self.run_tool("check_commits.py", self.root, "nowhere..HEAD")[0], 2)


if __name__ == "__main__":
    unittest.main()
