// Reads a tenant's stored names.
#include "pipeline/meta.h"

#include "base/bytes.h"

namespace tollgate::pipeline {

std::string to_bytes(const ActivePolicy& active) {
    std::string out;
    ByteWriter writer(out);
    writer.bytes(active.current);
    writer.bytes(active.previous);
    return out;
}

Result<std::optional<ActivePolicy>> read_active(const store::Store& store,
                                                std::string_view tenant) {
    TG_TRY(const auto stored, store.get(store::Family::kMeta, tenant, kMetaActive));
    if (!stored) {
        return std::optional<ActivePolicy>();
    }
    ByteReader reader(*stored);
    ActivePolicy active;
    active.current = std::string(reader.bytes());
    active.previous = std::string(reader.bytes());
    if (!reader.ok() || !reader.at_end()) {
        return Error{Fault::kCorrupt, "tenant " + std::string(tenant) +
                                          ": the name of the active policy does not read"};
    }
    return std::optional(active);
}

Result<std::map<std::string, PackPtr>> load_stored_packs(const store::Store& store,
                                                         std::string_view tenant) {
    std::map<std::string, PackPtr> packs;
    Status result = ok();
    TG_TRY(const auto scanned,
           store.scan(store::Family::kMeta, tenant, kMetaPack,
                      [&](std::string_view key, std::string_view value) {
                          if (key.substr(0, kMetaPack.size()) != kMetaPack) {
                              return false;
                          }
                          const std::string hash(key.substr(kMetaPack.size()));
                          auto files = decode_pack(value);
                          if (!files) {
                              result = Error{Fault::kCorrupt, "stored policy " + hash + ": " +
                                                                  files.error().message};
                              return false;
                          }
                          std::vector<Diagnostic> findings;
                          auto pack = load_pack(std::move(*files), findings);
                          if (!pack) {
                              result = Error{Fault::kCorrupt,
                                             "stored policy " + hash + ": " + pack.error().message};
                              return false;
                          }
                          packs.emplace(hash, PackPtr(std::move(*pack)));
                          return true;
                      }));
    (void)scanned;
    if (!result) {
        return result.error();
    }
    return packs;
}

}  // namespace tollgate::pipeline
