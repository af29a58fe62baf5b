"""The tables tidy_test.py checks against: who may include which library, and what no room may write."""
import re

SOFT_LINES = 300  # reported
HARD_LINES = 600  # a fault
MAX_COLUMNS = 100
MAX_BYTES = 1 << 20  # outside models/

# A header whose path begins with the key, and the places that may include it: a room, a folder or one
# file (without its suffix). Rooms not named never see the library, so replacing it is one room's work.
LIBRARIES = {
    "rocksdb/": ["store/"],
    "simdjson": ["text/json"],
    "boost/": ["server/", "apps/"],
    "openssl/": ["base/", "server/", "apps/"],
    "toml++/": ["decision/", "apps/"],
    "toml.hpp": ["decision/", "apps/"],
    "nlohmann/": ["server/", "apps/"],
    "CLI/": ["apps/"],
    "spdlog/": ["base/log"],
    "prometheus/": ["base/metrics"],
    "xxhash": ["base/"],
    "re2/": ["text/", "decision/"],
    "unicode/": ["text/", "decision/", "model/"],
    "date/": ["base/", "decision/", "apps/"],
    "zstd": ["decision/", "apps/"],
}
# At most this many files of the room (tests apart) include the library.
SINGLE_FILE = {("toml++/", "decision"): 1}
# For tests, benchmarks and fuzz targets only.
TEST_LIBRARIES = ("gtest/", "gmock/", "benchmark/")

INTRINSIC_HEADER = re.compile(r"^(?:imm|x86|amx|[a-z]mm|avx\w*|nmm|wmm)intrin\.h$|^arm_neon\.h$")
INTRINSIC_USE = re.compile(r"\b(?:_mm(?:256|512)?_\w+|__m(?:128|256|512)[id]?|_tile_\w+|__builtin_ia32_\w+)\b")
ISA_FOLDERS = ("kernels/sse/", "kernels/avx2/", "kernels/avx512/", "kernels/amx/")

STANDARD_OUTPUT = re.compile(
    r"\bstd::(?:cout|cerr|clog)\b|(?<![\w:.>])(?:std::)?(?:printf|puts|putchar|perror)\s*\("
    r"|\b(?:std::)?f(?:printf|puts|putc|write)\s*\([^;]*\b(?:stdout|stderr)\b"
)
OUTPUT_ALLOWED = ("apps/", "base/log", "base/check")

ENVIRONMENT = re.compile(r"\b(?:secure_)?getenv\s*\(")
ENVIRONMENT_ALLOWED = ("apps/",)

THROW = re.compile(r"\bthrow\b")
THROW_ALLOWED = ("base/alloc_count_operators",)  # a replaced operator new must throw bad_alloc
SLEEP = re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\b|(?<![\w.>:])sleep\s*\(")
USING_NAMESPACE = re.compile(r"\busing\s+namespace\b")
FAST_MATH = re.compile(r"fast-math|Ofast|ffp-contract=(?:fast|on)")

# A note left in the code needs the number: the word, then (#12).
NOTE = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME)\b(?!\(#\d+\))")
