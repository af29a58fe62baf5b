// Fuzz target: any bytes as policy.toml and as a stored pack: an error or a valid policy, never a
// crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "decision/pack.h"
#include "decision/policy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto policy = tollgate::parse_policy(text);
    if (policy) {
        TG_CHECK(tollgate::validate(*policy).has_value(),
                 "a policy that is not valid was accepted");
        TG_CHECK(!tollgate::policy_keys(*policy).empty(), "a policy without keys");
        for (const double p : {0.0, 0.01, 0.5, 0.99, 1.0}) {
            const double score = tollgate::score_of(p, policy->bands);
            TG_CHECK(score >= 0.0 && score <= 1.0, "a score outside 0 to 1");
        }
    } else {
        TG_CHECK(!policy.error().message.empty(), "an error without words");
    }
    const auto files = tollgate::decode_pack(text);
    if (files) {
        const auto again = tollgate::decode_pack(tollgate::encode_pack(*files));
        TG_CHECK(again.has_value() && *again == *files, "a pack that does not read back equal");
    }
    return 0;
}
