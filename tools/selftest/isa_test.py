"""Shows that check_isa_objects.sh can fail: a std::sort in an AVX-512 file is found, a private helper is not."""
import os
import subprocess
import unittest

import support

BAD = """// Calls a library template: its code becomes a weak symbol with AVX-512 instructions in it.
#include <algorithm>
#include <vector>
void sort_them(std::vector<float>& v) { std::sort(v.begin(), v.end()); }
"""
GOOD = """// Keeps its helper to itself.
namespace { float twice(float x) { return x + x; } }
float kernel(float x) { return twice(x); }
"""


class IsaObjects(support.SampleTree):
    def compile(self, text: str, folder: str) -> None:
        source = self.write("sample.cc", text)
        target = self.root / "CMakeFiles/kernels" / folder / "sample.cc.o"
        target.parent.mkdir(parents=True)
        compiler = os.environ.get("CXX", "g++")
        subprocess.run([compiler, "-O1", "-mavx512f", "-c", source, "-o", target], check=True)

    def test_a_shared_symbol_fails(self):
        self.compile(BAD, "avx512")
        status, output = self.run_tool("check_isa_objects.sh", self.root)
        self.assertEqual(status, 1, output)
        self.assertIn("introsort", output)

    def test_a_private_helper_passes(self):
        self.compile(GOOD, "avx2")
        status, output = self.run_tool("check_isa_objects.sh", self.root)
        self.assertEqual(status, 0, output)
        self.assertIn("1 ISA objects", output)

    def test_other_folders_are_not_its_business(self):
        self.compile(BAD, "ref")
        status, output = self.run_tool("check_isa_objects.sh", self.root)
        self.assertEqual(status, 0, output)
        self.assertIn("0 ISA objects", output)

    def test_a_file_that_is_no_object_fails(self):
        path = self.write("kernels/amx/broken.o", "not an object")
        self.assertEqual(self.run_tool("check_isa_objects.sh", path)[0], 1)


if __name__ == "__main__":
    unittest.main()
