// Streams the log through SHA-256.
#include "apps/log_hash.h"

#include "base/hash.h"

namespace tollgate::apps {

Result<LogHash> log_hash(const store::Store& store, const std::string& tenant,
                         const LogRange& range) {
    Sha256 sha;
    LogHash out;
    TG_TRY([[maybe_unused]] const auto read,
           store.read_log(tenant, range.from, [&](const store::LogEntry& entry) {
               if (entry.seq > range.to) {
                   return false;
               }
               sha.update(entry.record);
               sha.update("\n");
               ++out.records;
               return true;
           }));
    out.hex = to_hex(sha.finish());
    return out;
}

}  // namespace tollgate::apps
