// Store's blocking reads: keys, ranges and logs of one tenant, the chain's check.
#include <algorithm>
#include <memory>
#include <utility>

#include "store/impl.h"

namespace tollgate::store {

namespace {

constexpr std::size_t kLogReadahead = std::size_t{256} << 10U;

std::string_view view(const rocksdb::Slice& slice) {
    return {slice.data(), slice.size()};
}

struct LogPlace {
    std::string_view tenant;
    std::uint64_t first_seq = 1;
};

// Visits the entries from `place` on. The cut was read on the same snapshot: a drop_below() in
// between would look like a hole.
Status walk_log(const Rocks& rocks, const LogPlace& place, const rocksdb::Snapshot* snapshot,
                const std::function<bool(const LogEntry&)>& visit) {
    TenantRange range(place.tenant, snapshot);
    range.options.fill_cache = false;
    range.options.readahead_size = kLogReadahead;
    const std::unique_ptr<rocksdb::Iterator> at(
        rocks.db().NewIterator(range.options, rocks.family(Family::kLog)));
    const std::size_t prefix = tenant_prefix(place.tenant).size();
    std::uint64_t expected = place.first_seq;
    for (at->Seek(sequence_key(place.tenant, expected)); at->Valid(); at->Next(), ++expected) {
        const auto seq = sequence_of(view(at->key()).substr(prefix));
        const auto value = decode_log_value(view(at->value()));
        if (!seq || !value) {
            return log_error(place.tenant, expected, "is malformed");
        }
        if (*seq != expected) {
            return log_error(place.tenant, expected, "is missing");
        }
        if (!visit({.seq = *seq, .chain = value->chain, .record = value->record})) {
            return ok();
        }
    }
    if (!at->status().ok()) {
        return rocks_error("read of log entry " + std::to_string(expected), at->status());
    }
    return ok();
}

}  // namespace

TenantRange::TenantRange(std::string_view tenant, const rocksdb::Snapshot* snapshot)
    : stop(tenant_end(tenant)), bound(stop) {
    options.iterate_upper_bound = &bound;
    options.snapshot = snapshot;
}

Error log_error(std::string_view tenant, std::uint64_t seq, std::string_view what) {
    return Error{Fault::kCorrupt, "tenant '" + std::string(tenant) + "': log entry " +
                                      std::to_string(seq) + " " + std::string(what)};
}

Result<Cut> read_cut(const Rocks& rocks, std::string_view tenant,
                     const rocksdb::Snapshot* snapshot) {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot;
    std::string bytes;
    const auto status =
        rocks.db().Get(options, rocks.family(Family::kMeta), full_key(tenant, cut_name()), &bytes);
    if (status.IsNotFound()) {
        return Cut{};
    }
    if (!status.ok()) {
        return rocks_error("read", status);
    }
    const auto cut = decode_cut(bytes);
    if (!cut) {
        return Error{Fault::kCorrupt, "tenant '" + std::string(tenant) +
                                          "': the mark of its log's cut is malformed"};
    }
    return *cut;
}

Result<std::vector<std::string>> tenants_of(const Rocks& rocks, Family family) {
    std::vector<std::string> out;
    const std::unique_ptr<rocksdb::Iterator> at(
        rocks.db().NewIterator(rocksdb::ReadOptions(), rocks.family(family)));
    at->SeekToFirst();
    while (at->Valid()) {
        const auto tenant = tenant_of(view(at->key()));
        if (!tenant) {
            return Error{Fault::kCorrupt, "a stored key has no tenant"};
        }
        out.emplace_back(*tenant);
        at->Seek(tenant_end(out.back()));
    }
    if (!at->status().ok()) {
        return rocks_error("read", at->status());
    }
    return out;
}

Result<Cut> read_end(const Rocks& rocks, std::string_view tenant) {
    const TenantRange range(tenant, nullptr);
    const std::unique_ptr<rocksdb::Iterator> at(
        rocks.db().NewIterator(range.options, rocks.family(Family::kLog)));
    const std::string prefix = tenant_prefix(tenant);
    at->SeekForPrev(range.bound);
    if (!at->status().ok()) {
        return rocks_error("read", at->status());
    }
    if (!at->Valid() || !at->key().starts_with(prefix)) {
        return read_cut(rocks, tenant, nullptr);
    }
    const auto seq = sequence_of(view(at->key()).substr(prefix.size()));
    const auto value = decode_log_value(view(at->value()));
    if (!seq || !value) {
        return log_error(tenant, seq.value_or(0), "is malformed");
    }
    return Cut{.first_seq = *seq + 1, .chain = value->chain};
}

Result<std::optional<std::string>> Store::get(Family family, std::string_view tenant,
                                              std::string_view key) const {
    TG_TRY(const auto named, check_tenant(tenant));
    (void)named;
    const Rocks& rocks = *impl_->rocks;
    std::string value;
    const auto status =
        rocks.db().Get(rocksdb::ReadOptions(), rocks.family(family), full_key(tenant, key), &value);
    if (status.IsNotFound()) {
        return std::optional<std::string>();
    }
    if (!status.ok()) {
        return rocks_error("read", status);
    }
    return std::optional(std::move(value));
}

Status Store::scan(
    Family family, std::string_view tenant, std::string_view from,
    const std::function<bool(std::string_view key, std::string_view value)>& visit) const {
    TG_TRY(const auto named, check_tenant(tenant));
    (void)named;
    const TenantRange range(tenant, nullptr);
    const std::size_t prefix = tenant_prefix(tenant).size();
    const std::unique_ptr<rocksdb::Iterator> at(
        impl_->rocks->db().NewIterator(range.options, impl_->rocks->family(family)));
    for (at->Seek(full_key(tenant, from)); at->Valid(); at->Next()) {
        const std::string_view key = view(at->key()).substr(prefix);
        if (family == Family::kMeta && !key.empty() && key.front() == kReservedMeta) {
            continue;
        }
        if (!visit(key, view(at->value()))) {
            return ok();
        }
    }
    if (!at->status().ok()) {
        return rocks_error("scan", at->status());
    }
    return ok();
}

Status Store::read_log(std::string_view tenant, std::uint64_t from_seq,
                       const std::function<bool(const LogEntry&)>& visit) const {
    TG_TRY(const auto named, check_tenant(tenant));
    (void)named;
    const Rocks& rocks = *impl_->rocks;
    rocksdb::ManagedSnapshot snapshot(&rocks.db());
    TG_TRY(const Cut cut, read_cut(rocks, tenant, snapshot.snapshot()));
    return walk_log(rocks, {.tenant = tenant, .first_seq = std::max(from_seq, cut.first_seq)},
                    snapshot.snapshot(), visit);
}

Status Store::verify_chain(std::string_view tenant, std::uint64_t from_seq) const {
    TG_TRY(const auto named, check_tenant(tenant));
    (void)named;
    const Rocks& rocks = *impl_->rocks;
    const std::uint64_t last = impl_->committer.last_seq(tenant);
    rocksdb::ManagedSnapshot snapshot(&rocks.db());
    TG_TRY(const Cut cut, read_cut(rocks, tenant, snapshot.snapshot()));
    const std::uint64_t first = std::max(from_seq, cut.first_seq);
    if (first > last + 1) {
        return Error{Fault::kBadInput, "verify_chain: from_seq is " + std::to_string(from_seq) +
                                           ", at most " + std::to_string(last + 1) + " allowed"};
    }
    // The chain's value before the first entry is the cut's, or stands in the entry before it.
    Digest chain = cut.chain;
    std::uint64_t next = first > cut.first_seq ? first - 1 : first;
    std::uint64_t wrong = 0;
    TG_TRY(const auto read, walk_log(rocks, {.tenant = tenant, .first_seq = next},
                                     snapshot.snapshot(), [&](const LogEntry& entry) {
                                         const bool fits =
                                             entry.seq < first ||
                                             chain_next(chain, entry.record) == entry.chain;
                                         wrong = fits ? 0 : entry.seq;
                                         chain = entry.chain;
                                         next = entry.seq + 1;
                                         return fits;
                                     }));
    (void)read;
    if (wrong != 0) {
        return log_error(tenant, wrong, "does not fit the chain");
    }
    if (next <= last) {
        return log_error(tenant, next, "is missing");
    }
    return ok();
}

Result<std::vector<std::string>> Store::tenants() const {
    TG_TRY(auto out, tenants_of(*impl_->rocks, Family::kLog));
    TG_TRY(const auto named, tenants_of(*impl_->rocks, Family::kMeta));
    out.insert(out.end(), named.begin(), named.end());
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

}  // namespace tollgate::store
