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
    Entries::iterator at;
    if (shard.spare.empty()) {
        at = shard.entries
                 .emplace(Id{.spec = key.spec, .hash = key.hash, .bytes = key.bytes},
                          std::make_unique<Entry>())
                 .first;
    } else {
        Entries::node_type node = std::move(shard.spare.back());
        shard.spare.pop_back();
        node.key().spec = key.spec;
        node.key().hash = key.hash;
        node.key().bytes = key.bytes;  // its capacity is there already
        at = shard.entries.insert(std::move(node)).position;
    }
    Entry& entry = *at->second;
    entry.id = &at->first;
    Totals& total = totals[static_cast<std::size_t>(key.spec)];
    total.keys.fetch_add(1, std::memory_order_relaxed);
    total.bytes.fetch_add(entry.overhead(), std::memory_order_relaxed);
    bytes.fetch_add(entry.overhead(), std::memory_order_relaxed);
    resized(entry, {});
    return entry;
}

void WindowStore::Impl::forget(Shard& shard, Entries::iterator at) {
    Entry& entry = *at->second;
    set_cold(entry, false);
    const std::uint64_t size = entry.overhead() + entry.log.bytes();
    Totals& total = totals[static_cast<std::size_t>(at->first.spec)];
    total.keys.fetch_sub(1, std::memory_order_relaxed);
    total.bytes.fetch_sub(size, std::memory_order_relaxed);
    total.rows.fetch_sub(entry.log.size(), std::memory_order_relaxed);
    bytes.fetch_sub(size, std::memory_order_relaxed);
    shard.entries.erase(at);
}

// Unsigned wrap-around makes the sums right also when a key has become smaller.
void WindowStore::Impl::resized(const Entry& entry, Size before) {
    Totals& total = totals[static_cast<std::size_t>(entry.id->spec)];
    const Size now = size_of(entry);
    bytes.fetch_add(now.bytes - before.bytes, std::memory_order_relaxed);
    total.bytes.fetch_add(now.bytes - before.bytes, std::memory_order_relaxed);
    total.rows.fetch_add(now.rows - before.rows, std::memory_order_relaxed);
}

void WindowStore::Impl::changed(Shard& shard, Entry& entry, Size before) {
    resized(entry, before);
    if (entry.cold) {  // its rows are put together when it is loaded
        if (!entry.waiting) {
            entry.waiting = true;
            shard.waiting.push_back(&entry);
        }
    } else if (!entry.dirty) {
        entry.dirty = true;
        shard.dirty.push_back(&entry);
    }
}

void WindowStore::Impl::set_cold(Entry& entry, bool cold) {
    if (entry.cold != cold) {
        entry.cold = cold;
        totals[static_cast<std::size_t>(entry.id->spec)].cold.fetch_add(
            cold ? 1U : ~std::uint64_t{0}, std::memory_order_relaxed);
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
    const Impl::Size before_load = Impl::size_of(entry);
    const bool recorded_meanwhile = entry.log.size() > 0;
    TG_TRY(const auto loaded, entry.log.load(blob, impl_->plan->layout.words, before));
    (void)loaded;
    impl_->set_cold(entry, false);
    entry.touched = impl_->clock.fetch_add(1, std::memory_order_relaxed);
    if (recorded_meanwhile) {
        impl_->changed(shard, entry, before_load);
    } else {
        impl_->resized(entry, before_load);
    }
    return ok();
}

void WindowStore::mark_on_disk(const KeyRef& key, std::string_view blob) {
    const EventKeys::Key id{.spec = key.spec, .hash = Impl::hash_of(key), .bytes = key.bytes};
    const std::scoped_lock lock(impl_->shard_of(id.hash).mutex);
    Impl::Entry& entry = impl_->find_or_make(id);
    impl_->set_cold(entry, true);
    entry.newest_on_disk = KeyLog::newest_time(blob);
}

std::size_t WindowStore::export_dirty(
    std::size_t max_keys, bool all,
    const std::function<void(const KeyRef&, std::string_view blob)>& visit, Unsure* unsure) {
    if (all) {
        for (Impl::Shard& shard : impl_->shards) {
            const std::scoped_lock lock(shard.mutex);
            for (auto& [id, entry] : shard.entries) {
                if (!entry->cold) {
                    impl_->changed(shard, *entry, Impl::size_of(*entry));
                }
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
                if (entry.log.size() > 0 || entry.log.overflow_until() != INT64_MIN) {
                    entry.log.save(blob);
                }
                key = {.spec = entry.id->spec, .bytes = entry.id->bytes};
                if (unsure != nullptr && entry.log.has_arrival_from(unsure->floor)) {
                    unsure->keys.push_back(key);
                }
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
        const Impl::Size before = Impl::size_of(entry);
        entry.newest_on_disk = entry.log.time(entry.log.size() - 1);
        entry.log = KeyLog();
        impl_->resized(entry, before);
        impl_->set_cold(entry, true);
        ++dropped;
    }
    return dropped;
}

// Nothing of it is in any window and no snapshot waits for it.
bool WindowStore::Impl::expired(const Entry& entry, std::int64_t oldest) const {
    if (entry.log.size() > 0 || entry.dirty || entry.waiting ||
        entry.log.overflow_until() >= oldest) {
        return false;
    }
    return !entry.cold || entry.newest_on_disk < oldest;
}

void WindowStore::sweep(std::size_t keys, EventTime oldest_needed, std::vector<KeyRef>& gone) {
    const std::int64_t oldest = to_micros(oldest_needed);
    std::size_t shards_left = impl_->limits.shards;
    while (keys > 0 && shards_left > 0) {
        Impl::Shard& shard = impl_->shards[impl_->sweep_shard];
        const std::scoped_lock lock(shard.mutex);
        std::size_t& bucket = impl_->sweep_bucket;
        for (; keys > 0 && bucket < shard.entries.bucket_count(); ++bucket) {
            std::array<Impl::Entry*, 8> dead{};  // more in one bucket wait for the next round
            std::size_t count = 0;
            for (auto at = shard.entries.begin(bucket); at != shard.entries.end(bucket); ++at) {
                Impl::Entry& entry = *at->second;
                const Impl::Size before = Impl::size_of(entry);
                if (entry.log.trim(oldest) > 0) {
                    impl_->changed(shard, entry, before);
                }
                if (count < dead.size() && impl_->expired(entry, oldest)) {
                    dead[count++] = &entry;
                }
                keys -= keys > 0 ? 1 : 0;
            }
            for (std::size_t i = 0; i < count; ++i) {
                const auto at = shard.entries.find(*dead[i]->id);
                gone.push_back({.spec = at->first.spec, .bytes = at->first.bytes});
                impl_->forget(shard, at);
            }
        }
        if (bucket >= shard.entries.bucket_count()) {
            bucket = 0;
            impl_->sweep_shard = (impl_->sweep_shard + 1) % impl_->limits.shards;
            --shards_left;
        }
    }
}

bool WindowStore::over_memory() const {
    return impl_->bytes.load(std::memory_order_relaxed) > impl_->limits.memory_bytes;
}

void WindowStore::take_waiting(std::vector<KeyRef>& out) {
    for (Impl::Shard& shard : impl_->shards) {
        const std::scoped_lock lock(shard.mutex);
        for (Impl::Entry* entry : shard.waiting) {
            entry->waiting = false;
            if (entry->cold) {
                out.push_back({.spec = entry->id->spec, .bytes = entry->id->bytes});
            }
        }
        shard.waiting.clear();
    }
}

void WindowStore::put_back(std::span<const KeyRef> keys) {
    for (const KeyRef& key : keys) {
        const EventKeys::Key id{.spec = key.spec, .hash = Impl::hash_of(key), .bytes = key.bytes};
        Impl::Shard& shard = impl_->shard_of(id.hash);
        const std::scoped_lock lock(shard.mutex);
        if (Impl::Entry* entry = impl_->find(id)) {
            impl_->changed(shard, *entry, Impl::size_of(*entry));
        }
    }
}

}  // namespace tollgate
