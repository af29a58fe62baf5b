"""Holds wrap_comments.py to its promise: long comments fit 100 columns, words and short lines survive."""
import unittest

import support

LONG = "// " + " ".join(f"word{i}" for i in range(24))


class Wrap(support.SampleTree):
    def wrap(self, text: str) -> str:
        path = self.write("a.cc", text)
        self.assertEqual(self.run_tool("wrap_comments.py", path)[0], 0)
        return path.read_text()

    def test_overflow_joins_the_next_line(self):
        wrapped = self.wrap(LONG + "\n// and the end.\nint f();\n")
        self.assertLessEqual(max(map(len, wrapped.splitlines())), 100)
        self.assertEqual(wrapped.replace("\n//", "").split(), (LONG + " and the end.\nint f();").split())
        self.assertEqual(len(wrapped.splitlines()), 3)

    def test_a_trailing_comment_moves_above(self):
        wrapped = self.wrap("    int count = 0;  " + LONG + "\n").splitlines()
        self.assertEqual(wrapped[-1], "    int count = 0;")
        self.assertTrue(wrapped[0].startswith("    // word0"))

    def test_what_fits_is_untouched(self):
        text = "//   x      m x k  float32, finite\n//   y      m x n\nint f();  // why\n"
        self.assertEqual(self.wrap(text), text)

    def test_code_and_strings_are_untouched(self):
        text = 'const char* k = "' + "// not a comment " * 7 + '";\n'
        self.assertEqual(self.wrap(text), text)


if __name__ == "__main__":
    unittest.main()
