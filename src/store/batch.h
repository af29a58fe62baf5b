// Fills a RocksDB WriteBatch from records and puts of one tenant.
#pragma once

#include <rocksdb/write_batch.h>

#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/rocks.h"
#include "store/store.h"

namespace tollgate::store {

// kBadInput for a put that kLog, or a reserved name of kMeta, is no business of.
Status validate_puts(const std::vector<Put>& puts);
// The same as a programmer's error.
void check_puts(const std::vector<Put>& puts);

void append_record(const Rocks& rocks, rocksdb::WriteBatch& batch, std::string_view tenant,
                   const LogEntry& entry);
void append_puts(const Rocks& rocks, rocksdb::WriteBatch& batch, std::string_view tenant,
                 const std::vector<Put>& puts);

}  // namespace tollgate::store
