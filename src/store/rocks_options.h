// The RocksDB options of a store.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "store/store.h"

namespace tollgate::store {

inline constexpr std::size_t kFamilies = 8;

rocksdb::DBOptions database_options(const StoreOptions& options, rocksdb::Env* env,
                                    std::shared_ptr<rocksdb::Logger> log);

// "default" (RocksDB insists on it; unused), then every Family in order.
std::vector<rocksdb::ColumnFamilyDescriptor> family_options(const StoreOptions& options);

// Gives the process's RocksDB pools one thread each for flushes and for compactions, at nice 10.
void bound_background_threads(rocksdb::Env& env);

}  // namespace tollgate::store
