// The digest chain: one step of it, and the stored forms.
#include "store/chain.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"

namespace tollgate::store {

namespace {

// Digests are unsigned bytes, stored values are char.
std::string_view as_text(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

Digest chain_next(const Digest& previous, std::string_view record) {
    const Digest own = sha256(record);
    std::array<std::uint8_t, 64> both{};
    std::copy(previous.begin(), previous.end(), both.begin());
    std::copy(own.begin(), own.end(), both.begin() + 32);
    return sha256(as_text(both.data(), both.size()));
}

std::string encode_log_value(const Digest& chain, std::string_view record) {
    std::string out;
    out.reserve(chain.size() + record.size());
    out += as_text(chain.data(), chain.size());
    out += record;
    return out;
}

std::optional<LogValue> decode_log_value(std::string_view bytes) {
    LogValue value;
    if (bytes.size() < value.chain.size()) {
        return std::nullopt;
    }
    std::copy_n(bytes.begin(), value.chain.size(), value.chain.begin());
    value.record = bytes.substr(value.chain.size());
    return value;
}

std::string_view cut_name() {
    return {"\0chain_cut", 10};
}

std::string encode_cut(const Cut& cut) {
    std::string out;
    ByteWriter writer(out);
    writer.u64(cut.first_seq);
    writer.bytes(as_text(cut.chain.data(), cut.chain.size()));
    return out;
}

std::optional<Cut> decode_cut(std::string_view bytes) {
    ByteReader reader(bytes);
    Cut cut;
    cut.first_seq = reader.u64();
    const std::string_view chain = reader.bytes();
    if (!reader.ok() || !reader.at_end() || chain.size() != cut.chain.size() ||
        cut.first_seq == 0) {
        return std::nullopt;
    }
    std::copy(chain.begin(), chain.end(), cut.chain.begin());
    return cut;
}

}  // namespace tollgate::store
