// The window store and the disk: which keys are there, loading, exporting what changed, dropping
// the coldest.
#include <algorithm>
#include <array>

#include "decision/windows_impl.h"

namespace tollgate {

WindowStore::Impl::ShardLocks::ShardLocks(Impl& impl, const EventKeys& keys) : impl_(impl) {
    for (std::size_t i = 0; i < keys.count; ++i) {
        shards_[count_++] = impl.shard_index(keys.keys[i].hash);
    }
    std::sort(shards_.begin(), shards_.begin() + static_cast<std::ptrdiff_t>(count_));
    const auto end =
        std::unique(shards_.begin(), shards_.begin() + static_cast<std::ptrdiff_t>(count_));
    count_ = static_cast<std::size_t>(end - shards_.begin());
    for (std::size_t i = 0; i < count_; ++i) {
        impl_.shards[shards_[i]].mutex.lock();
    }
}

WindowStore::Impl::ShardLocks::~ShardLocks() {
    for (std::size_t i = count_; i > 0; --i) {
        impl_.shards[shards_[i - 1]].mutex.unlock();
    }
}

WindowStore::Impl::Entry* WindowStore::Impl::find(const EventKeys::Key& key) {
    Shard& shard = shard_of(key.hash);
    const auto at =
        shard.entries.find(IdView{.spec = key.spec, .hash = key.hash, .bytes = key.bytes});
    return at == shard.entries.end() ? nullptr : at->second.get();
}

WindowStore::Impl::Entry& WindowStore::Impl::find_or_make(const EventKeys::Key& key) {
    if (Entry* known = find(key); known != nullptr) {
        return *known;
    }
    Shard& shard = shard_of(key.hash);
    const auto [at, fresh] = shard.entries.emplace(
        Id{.spec = key.spec, .hash = key.hash, .bytes = key.bytes}, std::make_unique<Entry>());
    Entry& entry = *at->second;
    entry.id = &at->first;
    bytes.fetch_add(entry.overhead(), std::memory_order_relaxed);
    return entry;
}

void WindowStore::Impl::changed(Shard& shard, Entry& entry, std::size_t bytes_before) {
    bytes.fetch_add(entry.log.bytes() - bytes_before, std::memory_order_relaxed);
    if (!entry.dirty && !entry.cold) {  // a cold key's rows are put together when it is loaded
        entry.dirty = true;
        shard.dirty.push_back(&entry);
    }
}

void WindowStore::missing(const EventKeys& keys, std::vector<KeyRef>& out) const {
    for (std::size_t i = 0; i < keys.count; ++i) {
        const EventKeys::Key& key = keys.keys[i];
        const std::scoped_lock lock(impl_->shard_of(key.hash).mutex);
        if (const Impl::Entry* entry = impl_->find(key); entry != nullptr && entry->cold) {
            out.push_back({.spec = key.spec, .bytes = key.bytes});
        }
    }
}

Status WindowStore::load_key(const KeyRef& key, std::string_view blob, std::uint64_t before) {
    const EventKeys::Key id{.spec = key.spec, .hash = Impl::hash_of(key), .bytes = key.bytes};
    Impl::Shard& shard = impl_->shard_of(id.hash);
    const std::scoped_lock lock(shard.mutex);
    Impl::Entry& entry = impl_->find_or_make(id);
    const std::size_t bytes_before = entry.log.bytes();
    const bool recorded_meanwhile = entry.log.size() > 0;
    TG_TRY(const auto loaded, entry.log.load(blob, impl_->plan->layout.words, before));
    (void)loaded;
    entry.cold = false;
    entry.touched = impl_->clock.fetch_add(1, std::memory_order_relaxed);
    if (recorded_meanwhile) {
        impl_->changed(shard, entry, bytes_before);
    } else {
        impl_->bytes.fetch_add(entry.log.bytes() - bytes_before, std::memory_order_relaxed);
    }
    return ok();
}

void WindowStore::mark_on_disk(const KeyRef& key) {
    const EventKeys::Key id{.spec = key.spec, .hash = Impl::hash_of(key), .bytes = key.bytes};
    const std::scoped_lock lock(impl_->shard_of(id.hash).mutex);
    impl_->find_or_make(id).cold = true;
}

std::size_t WindowStore::export_dirty(
    std::size_t max_keys, bool all,
    const std::function<void(const KeyRef&, std::string_view blob)>& visit) {
    if (all) {
        for (Impl::Shard& shard : impl_->shards) {
            const std::scoped_lock lock(shard.mutex);
            for (auto& [id, entry] : shard.entries) {
                impl_->changed(shard, *entry, entry->log.bytes());
            }
        }
    }
    std::size_t visited = 0;
    std::string blob;
    for (Impl::Shard& shard : impl_->shards) {
        while (visited < max_keys) {
            KeyRef key;
            blob.clear();
            {  // one key at a time: the fast path waits for one serialisation at the most
                const std::scoped_lock lock(shard.mutex);
                if (shard.dirty.empty()) {
                    break;
                }
                Impl::Entry& entry = *shard.dirty.back();
                shard.dirty.pop_back();
                entry.dirty = false;
                entry.log.save(blob);
                key = {.spec = entry.id->spec, .bytes = entry.id->bytes};
            }
            visit(key, blob);
            ++visited;
        }
    }
    return visited;
}

std::size_t WindowStore::evict(std::size_t target_bytes) {
    struct Candidate {
        std::uint64_t touched;
        std::size_t shard;
        Impl::Entry* entry;
    };
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < impl_->shards.size(); ++i) {
        const std::scoped_lock lock(impl_->shards[i].mutex);
        for (auto& [id, entry] : impl_->shards[i].entries) {
            if (!entry->cold && !entry->dirty && entry->log.size() > 0) {
                candidates.push_back({entry->touched, i, entry.get()});
            }
        }
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.touched < b.touched; });
    std::size_t dropped = 0;
    for (const Candidate& candidate : candidates) {
        if (impl_->bytes.load(std::memory_order_relaxed) <= target_bytes) {
            break;
        }
        const std::scoped_lock lock(impl_->shards[candidate.shard].mutex);
        // Touched or changed since it was chosen: it is not cold. (Only sweep() erases entries;
        // both run on the upkeep's side and never at once.)
        Impl::Entry& entry = *candidate.entry;
        if (entry.touched != candidate.touched || entry.dirty || entry.cold) {
            continue;
        }
        impl_->bytes.fetch_sub(entry.log.bytes(), std::memory_order_relaxed);
        entry.log = KeyLog();
        entry.cold = true;
        ++dropped;
    }
    return dropped;
}

bool WindowStore::over_memory() const {
    return impl_->bytes.load(std::memory_order_relaxed) > impl_->limits.memory_bytes;
}

bool WindowStore::cold_rows_waiting() const {
    for (Impl::Shard& shard : impl_->shards) {
        const std::scoped_lock lock(shard.mutex);
        for (const auto& [id, entry] : shard.entries) {
            if (entry->cold && entry->log.size() > 0) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace tollgate
