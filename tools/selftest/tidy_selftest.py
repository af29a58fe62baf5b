"""Shows that tidy_test.py can fail: one bad sample for each rule, and a good file that passes them all."""
import json
import unittest

import support

HEAD = "// Does what a sample file has to do.\n"
NOTE_WORD = "TO" + "DO"


class Tidy(support.SampleTree):
    def check(self, name: str, text: str, *arguments: str) -> tuple[int, str]:
        path = self.write(name, text)
        status, output = self.run_tool("tidy_test.py", self.root, *arguments)
        path.unlink()
        return status, output

    def test_a_good_file_passes(self):
        for name, body in [
            ("src/base/a.h", "#pragma once\nint f();\n"),
            ("src/text/json.cc", "#include <simdjson.h>\n"),
            ("src/store/rocks.cc", "#include <rocksdb/db.h>\n"),
            ("src/kernels/avx2/k.cc", "#include <immintrin.h>\n__m256 f() { return _mm256_setzero_ps(); }\n"),
            ("src/apps/main.cc", "#include <cstdio>\nint main() { std::printf(\"x\"); }\n"),
            ("src/base/b.cc", "// A throw would be std::cout's fault.\nconst char* k = \"throw getenv( printf(\";\n"),
            ("src/base/c.cc", "int f(char* p) { return std::snprintf(p, 2, \"x\"); } // " + NOTE_WORD + "(#12)\n"),
            ("src/base/e.cc", "const char* k = R\"(" + "x " * 60 + ")\";\n"),
            ("src/base/d.cc", "auto x = R\"(throw \" std::cout)\"; const int n = 1'000;\n"),
        ]:
            with self.subTest(name=name):
                status, output = self.check(name, HEAD + body)
                self.assertEqual(status, 0, output)

    def test_each_rule_can_fail(self):
        for name, text, word in [
            ("src/base/a.cc", "int f();\n", "first line"),
            ("tools/a.py", "import sys\n", "first line"),
            ("src/base/a.h", HEAD + "int f();\n", "pragma once"),
            ("src/base/a.h", HEAD + "#pragma once\nusing namespace std;\n", "using namespace"),
            ("src/base/a.cc", HEAD + "// " + "x" * 98 + "\n", "101 columns"),
            ("src/base/a.cc", HEAD + "int i;\n" * 600, "601 lines"),
            ("src/base/a.cc", HEAD + "// " + NOTE_WORD + " later\n", "number"),
            ("src/decision/a.cc", HEAD + "void f() { std::cout << 1; }\n", "standard output"),
            ("src/decision/a.cc", HEAD + "void f() { printf(\"x\"); }\n", "standard output"),
            ("src/decision/a.cc", HEAD + "void f() { fprintf(stderr, \"x\"); }\n", "standard output"),
            ("src/server/a.cc", HEAD + "auto p = std::getenv(\"HOME\");\n", "environment"),
            ("src/base/a.cc", HEAD + "void f() { throw 1; }\n", "does not throw"),
            ("src/base/a_test.cc", HEAD + "void f() { std::this_thread::sleep_for(t); }\n", "sleep"),
            ("src/kernels/ref/a.cc", HEAD + "#include <immintrin.h>\n", "kernels/<isa>/"),
            ("src/base/a.cc", HEAD + "auto x = _mm256_setzero_ps();\n", "intrinsics"),
            ("src/pipeline/a.cc", HEAD + "#include <rocksdb/db.h>\n", "store/"),
            ("src/text/other.cc", HEAD + "#include <simdjson.h>\n", "text/json"),
            ("src/pipeline/a.cc", HEAD + "#include <boost/asio.hpp>\n", "server/"),
            ("src/server/a.cc", HEAD + "#include <toml++/toml.h>\n", "decision/"),
            ("src/base/a.cc", HEAD + "#include <gtest/gtest.h>\n", "tests"),
            ("CMakeLists.txt", "# Builds the sample tree only.\nadd_compile_options(-ffast-math)\n", "fast-math"),
            ("docs/big.bin", "x" * ((1 << 20) + 1), "bytes"),
        ]:
            with self.subTest(name=name, word=word):
                status, output = self.check(name, text)
                self.assertEqual(status, 1, output)
                self.assertIn(name, output)
                self.assertIn(word, output)

    def test_a_long_file_is_reported_before_it_fails(self):
        status, output = self.check("src/base/a.cc", HEAD + "int i;\n" * 300)
        self.assertEqual(status, 0, output)
        self.assertIn("report: src/base/a.cc: 301 lines", output)

    def test_one_decision_file_may_read_toml(self):
        include = HEAD + "#include <toml++/toml.h>\n"
        self.write("src/decision/first.cc", include)
        status, output = self.check("src/decision/second.cc", include)
        self.assertEqual(status, 1, output)
        self.assertIn("2 files, 1 is allowed", output)

    def test_a_file_in_no_target_is_dead(self):
        self.write("src/base/used.cc", HEAD)
        commands = [{"directory": str(self.root), "file": "src/base/used.cc", "command": "g++"}]
        self.write("build/compile_commands.json", json.dumps(commands))
        build = self.root / "build"
        self.assertEqual(self.check("src/base/used.cc", HEAD, "--build", build)[0], 0)
        status, output = self.check("src/base/dead.cc", HEAD, "--build", build)
        self.assertEqual(status, 1, output)
        self.assertIn("src/base/dead.cc:1: in no target", output)


if __name__ == "__main__":
    unittest.main()
