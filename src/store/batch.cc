// WriteBatch entries: a log value or a put behind the tenant's prefix.
#include "store/batch.h"

#include <array>
#include <string>

#include "base/check.h"
#include "store/chain.h"
#include "store/keys.h"

namespace tollgate::store {

namespace {

bool is_allowed(const Put& put) {
    return put.family != Family::kLog &&
           !(put.family == Family::kMeta && !put.key.empty() && put.key.front() == kReservedMeta);
}

}  // namespace

Status validate_puts(const std::vector<Put>& puts) {
    for (const Put& put : puts) {
        if (!is_allowed(put)) {
            return Error{Fault::kBadInput,
                         "put: the log is written through records only, and a name in kMeta may "
                         "not begin with a zero byte"};
        }
    }
    return ok();
}

void check_puts(const std::vector<Put>& puts) {
    for (const Put& put : puts) {
        TG_CHECK(is_allowed(put), "a put into kLog, or under a reserved name of kMeta");
    }
}

void append_record(const Rocks& rocks, rocksdb::WriteBatch& batch, std::string_view tenant,
                   const LogEntry& entry) {
    const std::string key = sequence_key(tenant, entry.seq);
    const rocksdb::Slice key_part(key);
    const std::array<rocksdb::Slice, 2> value = {
        rocksdb::Slice(reinterpret_cast<const char*>(entry.chain.data()), entry.chain.size()),
        rocksdb::Slice(entry.record.data(), entry.record.size())};
    (void)batch.Put(rocks.family(Family::kLog), rocksdb::SliceParts(&key_part, 1),
                    rocksdb::SliceParts(value.data(), static_cast<int>(value.size())));
}

void append_puts(const Rocks& rocks, rocksdb::WriteBatch& batch, std::string_view tenant,
                 const std::vector<Put>& puts) {
    for (const Put& put : puts) {
        const std::string key = full_key(tenant, put.key);
        if (put.erase) {
            (void)batch.Delete(rocks.family(put.family), key);
        } else {
            (void)batch.Put(rocks.family(put.family), key, put.value);
        }
    }
}

}  // namespace tollgate::store
