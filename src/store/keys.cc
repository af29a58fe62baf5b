// Stored keys: building and taking apart the tenant prefix.
#include "store/keys.h"

#include "base/bytes.h"
#include "base/check.h"

namespace tollgate::store {

Status check_tenant(std::string_view tenant) {
    if (tenant.size() > kMaxTenantBytes) {
        return Error{Fault::kBadInput, "tenant: a name of " + std::to_string(tenant.size()) +
                                           " bytes, at most " + std::to_string(kMaxTenantBytes) +
                                           " allowed"};
    }
    return ok();
}

std::string tenant_prefix(std::string_view tenant) {
    std::string out;
    out.reserve(tenant.size() + 2);
    ByteWriter(out).bytes(tenant);
    return out;
}

std::string tenant_end(std::string_view tenant) {
    std::string end = tenant_prefix(tenant);
    while (!end.empty() && end.back() == '\xff') {
        end.pop_back();
    }
    // The first byte of a length up to 255 is at most 0xff with a second byte of 0x00 or 0x01
    // behind it: the prefix is never all 0xff.
    TG_CHECK(!end.empty(), "a tenant prefix cannot be all 0xff");
    end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1U);
    return end;
}

std::string full_key(std::string_view tenant, std::string_view key) {
    std::string out;
    out.reserve(tenant.size() + key.size() + 2);
    ByteWriter(out).bytes(tenant);
    out += key;
    return out;
}

std::string sequence_bytes(std::uint64_t seq) {
    std::string out;
    ByteWriter(out).be64(seq);
    return out;
}

std::string sequence_key(std::string_view tenant, std::uint64_t seq) {
    std::string out;
    out.reserve(tenant.size() + 10);
    ByteWriter writer(out);
    writer.bytes(tenant);
    writer.be64(seq);
    return out;
}

std::optional<std::string_view> tenant_of(std::string_view stored) {
    ByteReader reader(stored);
    const std::string_view tenant = reader.bytes();
    if (!reader.ok() || tenant.size() > kMaxTenantBytes) {
        return std::nullopt;
    }
    return tenant;
}

std::optional<std::uint64_t> sequence_of(std::string_view key) {
    if (key.size() != 8) {
        return std::nullopt;
    }
    return ByteReader(key).be64();
}

}  // namespace tollgate::store
