// Fuzz target: a window key's stored rows. Bytes that load must save and load to the same rows.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "decision/key_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tollgate;
    if (size == 0 || size > (1U << 16U)) {
        return 0;
    }
    const std::size_t words = 5 + data[0] % 8;
    // With the checksum that save() would have written: what lies behind it is what is tried.
    std::string blob(reinterpret_cast<const char*>(data) + 1, size - 1);
    ByteWriter(blob).u64(hash64(blob));
    (void)KeyLog::newest_time(blob);
    KeyLog log;
    if (!log.load(blob, words, UINT64_MAX)) {
        TG_CHECK(log.size() == 0, "a blob that does not load changes nothing");
        return 0;
    }
    for (std::size_t i = 1; i < log.size(); ++i) {
        TG_CHECK(log.time(i - 1) <= log.time(i), "rows are in order of time");
    }
    (void)log.aggregate(0, log.size(), words - 1, true);
    std::string saved;
    log.save(saved);
    KeyLog again;
    TG_CHECK(again.load(saved, words, UINT64_MAX).has_value(), "what was saved loads");
    std::string twice;
    again.save(twice);
    TG_CHECK(twice == saved, "and saves to the same bytes");
    (void)log.trim(log.size() == 0 ? 0 : log.time(log.size() / 2));
    return 0;
}
