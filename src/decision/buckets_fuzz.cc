// Fuzz target: buckets.json. Any bytes give buckets or a named error; buckets that were accepted
// have distinct words, and a larger value never has a smaller bucket.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "decision/buckets.h"

namespace {

using tollgate::Buckets;

void check_words(const Buckets& buckets, std::size_t field, const std::string& name) {
    std::size_t before = 0;
    for (const double value : {-1e308, -40.0, -0.5, 0.0, 0.5, 12.5, 41.0, 1e6, 1e308}) {
        std::string word;
        buckets.word(field, &value, word);
        TG_CHECK(word.starts_with(name) && word.size() > name.size(), "no word");
        const std::size_t bucket = std::stoul(word.substr(name.size()));
        TG_CHECK(bucket >= before && bucket <= Buckets::kMaxEdges, "buckets out of order");
        before = bucket;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto buckets = Buckets::parse({reinterpret_cast<const char*>(data), size});
    if (!buckets) {
        TG_CHECK(buckets.error().fault == tollgate::Fault::kBadInput, "an error of another kind");
        TG_CHECK(buckets.error().message.starts_with("buckets.json: "), "an error without a name");
        return 0;
    }
    const std::vector<std::string> names = buckets->names();
    TG_CHECK(names.size() <= Buckets::kMaxFields, "more fields than the bound");
    for (std::size_t i = 0; i < names.size(); ++i) {
        TG_CHECK(tollgate::is_bucket_name(names[i]) && buckets->find(names[i]) == i, "not found");
        check_words(*buckets, i, names[i]);
    }
    return 0;
}
