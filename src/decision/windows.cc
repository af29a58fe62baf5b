// The store of window keys: shards, check-and-record, labels, hashing. Rows are in key_log.cc,
// values in window_scan.cc, the disk side in windows_disk.cc.
#include "decision/windows.h"

#include <algorithm>
#include <tuple>

#include "base/bytes.h"
#include "base/check.h"
#include "decision/windows_impl.h"

namespace tollgate {

namespace {

constexpr std::size_t kSpareKeyBytes = 128;  // of a key made in advance; a longer one allocates
constexpr std::uint64_t kUnknownString = UINT64_MAX;  // no StringKey has both words all ones

ScanScratch& scratch_of_thread() {
    thread_local ScanScratch
        scratch;  // grows to the largest window, so that scans allocate nothing
    return scratch;
}

void fill_row(const RowLayout& layout, const WindowEvent& event, const EvalInput& input,
              std::vector<std::uint64_t>& row) {
    row.assign(layout.words, 0);
    row[kRowTime] = static_cast<std::uint64_t>(to_micros(event.at));
    row[kRowArrival] = event.arrival;
    row[kRowId] = event.id_hash;
    for (const RowSlot& slot : layout.slots) {
        const bool field = slot.kind == RowSlot::Kind::kField;
        write_slot(slot,
                   field ? input.fields[static_cast<std::size_t>(slot.field)] : Value::unknown(),
                   row.data());
    }
}

}  // namespace

Value read_slot(const RowSlot& slot, const std::uint64_t* row) noexcept {
    const std::uint64_t word = row[slot.word];
    if (slot.type == ValueKind::kString) {
        if (word == kUnknownString && row[slot.word + 1] == kUnknownString) {
            return Value::unknown();
        }
        return Value::of_key({{word, row[slot.word + 1]}});
    }
    const auto number = static_cast<std::int64_t>(word);
    if (number == INT64_MIN) {
        return Value::unknown();
    }
    Value out;
    out.kind = slot.type;
    switch (slot.type) {
        case ValueKind::kBool:
            out.boolean = number != 0;
            return out;
        case ValueKind::kNumber:
            out.number = reduced({number, 1'000'000});
            return out;
        case ValueKind::kMoney:
        case ValueKind::kTime:
        case ValueKind::kDuration:
        case ValueKind::kTimeOfDay:
            out.number = {number, 1};
            return out;
        default:
            return Value::unknown();
    }
}

void write_slot(const RowSlot& slot, const Value& value, std::uint64_t* row) noexcept {
    if (slot.type == ValueKind::kString) {
        const bool known = value.kind == ValueKind::kString;
        row[slot.word] = known ? value.key.words[0] : kUnknownString;
        row[slot.word + 1] = known ? value.key.words[1] : kUnknownString;
        return;
    }
    std::int64_t number = INT64_MIN;
    if (value.kind == slot.type) {
        if (value.kind == ValueKind::kBool) {
            number = value.boolean ? 1 : 0;
        } else if (const auto scaled =
                       to_scaled(value.number, value.kind == ValueKind::kNumber ? 6 : 0)) {
            number = *scaled;
        }
    }
    row[slot.word] = static_cast<std::uint64_t>(number);
}

WindowStore::WindowStore(const WindowPlan& plan, const WindowLimits& limits)
    : impl_(std::make_unique<Impl>(plan, limits)) {
    TG_CHECK(limits.shards > 0 && (limits.shards & (limits.shards - 1)) == 0,
             "shards: a power of two");
}
WindowStore::~WindowStore() = default;

const WindowPlan& WindowStore::plan() const {
    return *impl_->plan;
}

void WindowStore::keys_of(const WindowPlan& plan, std::span<const Value> fields, EventKeys& out) {
    out.count = 0;
    for (std::size_t i = 0; i < plan.keys.size() && i < kMaxKeySpecs; ++i) {
        EventKeys::Key& key = out.keys[out.count];
        key.bytes.clear();
        ByteWriter writer(key.bytes);
        bool whole = true;
        for (const FieldId field : plan.keys[i].fields) {
            const Value& value = fields[static_cast<std::size_t>(field)];
            whole = whole && value.kind == ValueKind::kString;
            if (whole) {
                writer.bytes(value.text);
            }
        }
        if (whole) {
            key.spec = static_cast<KeySpecId>(i);
            key.hash = hash64(key.bytes, i + 1);
            ++out.count;
        }
    }
}

// What assess() holds of each key while its shards are locked.
struct WindowStore::Impl::Touched {
    std::array<Entry*, kMaxKeySpecs> by_spec{};
    std::array<bool, kMaxKeySpecs> readable{};  // resident, and not past its bound of events
    std::array<bool, kMaxKeySpecs> present{};   // the event has such a key
};

void WindowStore::Impl::touch(const EventKeys& keys, EventTime at, bool create, Touched& touched,
                              WindowValues& out) {
    out.cold_keys = 0;
    out.overflow_keys = 0;
    for (std::size_t i = 0; i < keys.count; ++i) {
        const EventKeys::Key& key = keys.keys[i];
        const auto spec = static_cast<std::size_t>(key.spec);
        Entry* entry = create ? &find_or_make(key) : find(key);
        touched.by_spec[spec] = entry;
        touched.present[spec] = true;
        const bool cold = entry != nullptr && entry->cold;
        const bool overflow = entry != nullptr && to_micros(at) < entry->log.overflow_until();
        touched.readable[spec] = !cold && !overflow;
        out.cold_keys += cold ? 1U : 0U;
        out.overflow_keys += overflow ? 1U : 0U;
        if (entry != nullptr) {
            entry->touched = clock.fetch_add(1, std::memory_order_relaxed);
        }
    }
}

void WindowStore::Impl::compute(const WindowPlan& p, const WindowEvent& event,
                                const EvalInput& input, const Touched& touched, RecordMode mode,
                                WindowValues& out) {
    ScanScratch& scratch = scratch_of_thread();
    scratch.work_left = limits.max_scan_rows;
    scratch.cut = 0;
    out.values.assign(p.windows.size(), Value::unknown());
    EvalInput reading = input;
    reading.windows = out.values;
    ScanInput scan{.log = nullptr,
                   .layout = &p.layout,
                   .event = &reading,
                   .at = to_micros(event.at),
                   .arrival = event.arrival,
                   .complete_from = complete_from.load(std::memory_order_relaxed),
                   .has_current = mode != RecordMode::kPeek};
    for (std::size_t i = 0; i < p.windows.size(); ++i) {
        const WindowDef& window = p.windows[i];
        const auto spec = static_cast<std::size_t>(window.key);
        const bool wanted = mode != RecordMode::kImport || window.feeds_keep;
        if (wanted && touched.present[spec] && touched.readable[spec]) {
            scan.log = touched.by_spec[spec] == nullptr ? nullptr : &touched.by_spec[spec]->log;
            out.values[i] = scan_window(window, scan, scratch);
        }
    }
    out.overflow_keys += scratch.cut;
    out.kept.assign(p.keeps.size(), INT64_MIN);
    for (std::size_t i = 0; i < p.keeps.size(); ++i) {
        const Value value = evaluate(*p.keeps[i].program, reading);
        if (value.kind == ValueKind::kNumber) {
            out.kept[i] = to_scaled(value.number, 6).value_or(INT64_MIN);
        }
    }
}

void WindowStore::Impl::record(const WindowPlan& p, const EventKeys& keys, const WindowEvent& event,
                               const Touched& touched, const WindowValues& values) {
    std::vector<std::uint64_t>& row = scratch_of_thread().current;
    for (const RowSlot& slot : p.layout.slots) {
        if (slot.kind == RowSlot::Kind::kKept && slot.keep < values.kept.size()) {
            row[slot.word] = static_cast<std::uint64_t>(values.kept[slot.keep]);
        }
    }
    for (std::size_t i = 0; i < keys.count; ++i) {
        const EventKeys::Key& key = keys.keys[i];
        Entry& entry = *touched.by_spec[static_cast<std::size_t>(key.spec)];
        if (entry.log.size() >= limits.max_events_per_key) {
            // Not stored: every window that could have held it is unknown until it would have left
            // them all.
            entry.log.set_overflow_until(to_micros(event.at) + p.retention.count());
            changed(shard_of(key.hash), entry, size_of(entry));
            continue;
        }
        const Size before = size_of(entry);
        if (!entry.log.insert(row.data(), p.layout.words)) {
            continue;  // recovery meets it twice: in the snapshot and in the log
        }
        if (event.label != Label::kNone) {
            (void)entry.log.add_label(to_micros(event.at), event.arrival, event.label,
                                      to_micros(event.label_known_at));
        }
        changed(shard_of(key.hash), entry, before);
    }
}

void WindowStore::assess(const WindowPlan& plan, const EventKeys& keys, const WindowEvent& event,
                         const EvalInput& input, RecordMode mode, WindowValues& out) noexcept {
    const Impl::ShardLocks locks(*impl_, keys);
    Impl::Touched touched;
    const bool records = mode != RecordMode::kReadOnly && mode != RecordMode::kPeek;
    impl_->touch(keys, event.at, records, touched, out);
    fill_row(plan.layout, event, input, scratch_of_thread().current);
    if (mode != RecordMode::kLoad) {
        impl_->compute(plan, event, input, touched, mode, out);
    }
    if (records) {
        impl_->record(plan, keys, event, touched, out);
    }
}

Status WindowStore::apply_label(const EventKeys& keys, EventTime at, std::uint64_t arrival,
                                Label label, EventTime known_at) {
    const Impl::ShardLocks locks(*impl_, keys);
    Status result = Error{Fault::kNotFound, "the event is in no window any more"};
    for (std::size_t i = 0; i < keys.count; ++i) {
        Impl::Entry* entry = impl_->find(keys.keys[i]);
        if (entry == nullptr) {
            continue;
        }
        const Impl::Size before = Impl::size_of(*entry);
        Status added = entry->log.add_label(to_micros(at), arrival, label, to_micros(known_at));
        if (added) {
            impl_->changed(impl_->shard_of(keys.keys[i].hash), *entry, before);
            result = ok();
        } else if (added.error().fault != Fault::kNotFound) {
            return added;
        }
    }
    return result;
}

void WindowStore::forget_event(const EventKeys& keys, EventTime at, std::uint64_t arrival) {
    const Impl::ShardLocks locks(*impl_, keys);
    for (std::size_t i = 0; i < keys.count; ++i) {
        if (Impl::Entry* entry = impl_->find(keys.keys[i])) {
            const Impl::Size before = Impl::size_of(*entry);
            if (entry->log.erase(to_micros(at), arrival)) {
                impl_->changed(impl_->shard_of(keys.keys[i].hash), *entry, before);
            }
        }
    }
}

void WindowStore::set_complete_from(std::int64_t time) {
    impl_->complete_from.store(time, std::memory_order_relaxed);
}

void WindowStore::reserve(std::size_t keys, std::size_t rows) {
    scratch_of_thread().reserve(impl_->limits.max_scan_rows);
    const std::size_t words = impl_->plan->layout.words;
    const std::size_t each = (keys + impl_->limits.shards - 1) / impl_->limits.shards;
    // Keys do not fall evenly: half as many again, and some for shards of few keys.
    const std::size_t spare = keys == 0 ? 0 : each + each / 2 + 16;
    for (Impl::Shard& shard : impl_->shards) {
        const std::scoped_lock lock(shard.mutex);
        for (auto& [id, entry] : shard.entries) {
            const Impl::Size before = Impl::size_of(*entry);
            const std::size_t size = entry->log.size();
            entry->log.reserve(size + std::max(rows, size / 2), words);
            impl_->resized(*entry, before);
        }
        shard.entries.reserve(shard.entries.size() + spare);
        shard.dirty.reserve(shard.entries.size() + spare);
        Impl::Entries made;
        for (std::size_t i = shard.spare.size(); i < spare; ++i) {
            Impl::Id id;
            id.bytes.reserve(kSpareKeyBytes);
            const auto at = made.emplace(std::move(id), std::make_unique<Impl::Entry>()).first;
            at->second->log.reserve(rows, words);
            shard.spare.push_back(made.extract(at));
        }
    }
}

WindowStats WindowStore::stats() const {
    const auto read = [](const std::atomic<std::uint64_t>& number) {
        return number.load(std::memory_order_relaxed);
    };
    WindowStats out;
    out.bytes = read(impl_->bytes);
    for (std::size_t i = 0; i < impl_->plan->keys.size() && i < kMaxKeySpecs; ++i) {
        const Impl::Totals& total = impl_->totals[i];
        out.keys.push_back({.name = impl_->plan->keys[i].name,
                            .keys = read(total.keys),
                            .resident = read(total.keys) - read(total.cold),
                            .events = read(total.rows),
                            .bytes = read(total.bytes)});
        out.spilled_keys += read(total.cold);
    }
    return out;
}

Digest WindowStore::hash() const {
    std::vector<std::unique_lock<std::mutex>> locks;
    std::vector<std::pair<const Impl::Id*, const KeyLog*>> all;
    for (Impl::Shard& shard : impl_->shards) {
        locks.emplace_back(shard.mutex);
        for (const auto& [id, entry] : shard.entries) {
            all.emplace_back(&id, &entry->log);
        }
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return std::tie(a.first->spec, a.first->bytes) < std::tie(b.first->spec, b.first->bytes);
    });
    Sha256 sha;
    std::string text;
    std::vector<const std::uint64_t*> rows;
    for (const auto& [id, log] : all) {
        rows.clear();
        for (std::size_t i = 0; i < log->size(); ++i) {
            rows.push_back(log->row(i));
        }
        std::sort(rows.begin(), rows.end(), [](const std::uint64_t* a, const std::uint64_t* b) {
            return std::tie(a[kRowTime], a[kRowId]) < std::tie(b[kRowTime], b[kRowId]);
        });
        for (const std::uint64_t* row : rows) {
            text.clear();
            ByteWriter writer(text);
            writer.u8(static_cast<std::uint8_t>(id->spec));
            writer.bytes(id->bytes);
            writer.u64(row[kRowTime]);
            writer.u64(row[kRowId]);
            auto labels = log->labels_of(row);
            std::sort(labels.begin(), labels.end());
            for (const KeyLog::KnownLabel& known : labels) {
                writer.i64(known.known_at);
                writer.u8(static_cast<std::uint8_t>(known.label));
            }
            for (std::size_t word = 4; word < impl_->plan->layout.words; ++word) {
                writer.u64(row[word]);
            }
            sha.update(text);
        }
    }
    return sha.finish();
}

void WindowStore::visit_rows(
    const KeyRef& key,
    const std::function<void(std::span<const std::uint64_t> row, Label label)>& visit) const {
    EventKeys::Key wanted{.spec = key.spec, .hash = impl_->hash_of(key), .bytes = key.bytes};
    Impl::Shard& shard = impl_->shard_of(wanted.hash);
    const std::scoped_lock lock(shard.mutex);
    if (const Impl::Entry* entry = impl_->find(wanted)) {
        for (std::size_t i = 0; i < entry->log.size(); ++i) {
            const std::uint64_t* row = entry->log.row(i);
            visit({row, impl_->plan->layout.words}, entry->log.label_at(row, INT64_MAX));
        }
    }
}

void WindowStore::rows_before(
    const EventKeys::Key& key, const Before& before, std::size_t most,
    const std::function<void(const std::uint64_t* row, Label label)>& visit) const {
    const std::scoped_lock lock(impl_->shard_of(key.hash).mutex);
    const Impl::Entry* entry = impl_->find(key);
    if (entry == nullptr) {
        return;
    }
    const std::int64_t now = to_micros(before.at);
    std::size_t index = entry->log.first_not_before(now, before.arrival);
    for (; most > 0 && index > 0; --most) {
        const std::uint64_t* row = entry->log.row(--index);
        visit(row, entry->log.label_at(row, now));
    }
}

}  // namespace tollgate
