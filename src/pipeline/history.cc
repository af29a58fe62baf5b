// Reads records back into windows. A record names the pack it was written with; its event is moved
// to the pack at hand.
#include "pipeline/history.h"

#include <utility>

#include "base/bytes.h"
#include "base/hash.h"
#include "decision/combine.h"
#include "decision/event_fields.h"
#include "pipeline/rebase.h"
#include "pipeline/stored.h"

namespace tollgate::pipeline {

namespace {

constexpr std::size_t kRecent = 4096;

// The log's value without its chain digest.
std::string_view record_text(std::string_view stored) {
    return stored.size() < sizeof(Digest) ? std::string_view{} : stored.substr(sizeof(Digest));
}

// `kept` of the pack that wrote it, in the order of this pack's keeps (by name).
std::vector<std::int64_t> kept_for(const PolicyPack& pack, const PolicyPack& from,
                                   const std::vector<std::int64_t>& kept) {
    std::vector<std::int64_t> out(pack.rules->plan.keeps.size(), INT64_MIN);
    for (std::size_t i = 0; i < out.size(); ++i) {
        for (std::size_t j = 0; j < kept.size() && j < from.rules->plan.keeps.size(); ++j) {
            if (from.rules->plan.keeps[j].name == pack.rules->plan.keeps[i].name) {
                out[i] = kept[j];
            }
        }
    }
    return out;
}

}  // namespace

PackByHash by_hash(std::map<std::string, PackPtr> packs) {
    return [packs = std::move(packs)](const std::string& hash) {
        const auto at = packs.find(hash);
        return at == packs.end() ? PackPtr() : at->second;
    };
}

const EventKeys& WindowLoader::keys(const Event& event) {
    fields_.resize(pack_.fields.size());
    fill_fields(event, pack_.fields, pack_.rates, pack_.zones, std::nullopt, fields_);
    WindowStore::keys_of(pack_.rules->plan, fields_, keys_);
    return keys_;
}

void WindowLoader::load(const Event& event, std::uint64_t arrival,
                        const std::vector<std::int64_t>& kept, Label label, EventTime known_at) {
    (void)keys(event);
    values_.kept.assign(pack_.rules->plan.keeps.size(), INT64_MIN);
    for (std::size_t i = 0; i < kept.size() && i < values_.kept.size(); ++i) {
        values_.kept[i] = kept[i];
    }
    const EvalInput input{
        .fields = fields_, .windows = {}, .lists = &pack_.lists, .now = event.occurred_at};
    const WindowEvent at{.at = event.occurred_at,
                         .arrival = arrival,
                         .id_hash = hash64(event.event_id),
                         .label = label,
                         .label_known_at = known_at};
    windows_.assess(pack_.rules->plan, keys_, at, input, RecordMode::kLoad, values_);
}

Status WindowLoader::label(const Event& event, std::uint64_t arrival, Label label,
                           EventTime known_at) {
    return windows_.apply_label(keys(event), event.occurred_at, arrival, label, known_at);
}

Result<StoredEvent> read_stored_event(const store::Store& store, const std::string& tenant,
                                      std::uint64_t seq, const PolicyPack& pack,
                                      const PackByHash& packs) {
    TG_TRY(const auto stored, store.get(store::Family::kLog, tenant, be64_key(seq)));
    if (!stored) {
        return Error{Fault::kNotFound, "no record " + std::to_string(seq)};
    }
    TG_TRY(const auto personal, store.get(store::Family::kPersonal, tenant, be64_key(seq)));
    const std::string_view text = record_text(*stored);
    TG_TRY(const RecordHead head, parse_record_head(text));
    const PackPtr from = packs(head.policy);
    if (from == nullptr) {
        return Error{Fault::kCorrupt,
                     "record " + std::to_string(seq) + " names an unknown policy " + head.policy};
    }
    TG_TRY(Record record,
           parse_record(text, personal ? std::string_view(*personal) : std::string_view(),
                        from.get()));
    if (!record.assessment) {
        return Error{Fault::kCorrupt, "record " + std::to_string(seq) + " is no event"};
    }
    StoredEvent out;
    out.event = rebase_event(record.assessment->event, from->schema(), pack.schema());
    out.arrival = record.assessment->arrival;
    out.recorded = record.assessment->admission != Admission::kTooLate;
    return out;
}

Status HistoryReader::apply(const store::LogEntry& entry, std::uint64_t before) {
    TG_TRY(const RecordHead head, parse_record_head(entry.record));
    PackPtr from = head.policy.empty() ? pack_ : packs_(head.policy);
    if (from == nullptr) {
        return Error{Fault::kCorrupt, "log record " + std::to_string(entry.seq) +
                                          " names an unknown policy " + head.policy};
    }
    TG_TRY(const auto personal, store_.get(store::Family::kPersonal, tenant_, be64_key(entry.seq)));
    auto parsed = parse_record(
        entry.record, personal ? std::string_view(*personal) : std::string_view(), from.get());
    if (!parsed) {
        return Error{parsed.error().fault,
                     "log record " + std::to_string(entry.seq) + ": " + parsed.error().message};
    }
    if (!parsed->redacted.empty()) {
        ++redacted_;
    }
    if (parsed->assessment) {
        return apply_event(*parsed, *from, before);
    }
    if (parsed->outcome) {
        return apply_label(*parsed->outcome, before);
    }
    if (parsed->account) {
        last_change_ = std::max(last_change_, parsed->account->sequence);
    }
    return ok();
}

Status HistoryReader::apply_event(const Record& record, const PolicyPack& written_with,
                                  std::uint64_t before) {
    const AssessmentRecord& event = *record.assessment;
    last_arrival_ = std::max(last_arrival_, event.arrival);
    if (event.arrival >= before || event.admission == Admission::kTooLate) {
        return ok();
    }
    Seen seen{.event = rebase_event(event.event, written_with.schema(), pack_->schema()),
              .arrival = event.arrival};
    loader_.load(seen.event, seen.arrival, kept_for(*pack_, written_with, event.kept));
    ++events_;
    if (recent_order_.size() < kRecent) {
        recent_order_.push_back(seen.event.event_id);
    } else {
        recent_.erase(recent_order_[recent_at_]);
        recent_order_[recent_at_] = seen.event.event_id;
        recent_at_ = (recent_at_ + 1) % kRecent;
    }
    std::string id = seen.event.event_id;
    recent_.insert_or_assign(std::move(id), std::move(seen));
    return ok();
}

Status HistoryReader::apply_label(const Outcome& outcome, std::uint64_t before) {
    const auto at = recent_.find(outcome.event_id);
    if (at != recent_.end()) {
        (void)loader_.label(at->second.event, at->second.arrival, outcome.label, outcome.known_at);
        return ok();
    }
    TG_TRY(const auto known, store_.get(store::Family::kEvents, tenant_, outcome.event_id));
    const auto where = known ? parse_known_event(*known) : std::nullopt;
    if (!where || where->arrival >= before) {
        return ok();  // parked: applied when the event comes
    }
    const auto stored = read_stored_event(store_, tenant_, where->seq, *pack_, packs_);
    if (stored && stored->recorded) {
        // kNotFound: the event has left every window.
        (void)loader_.label(stored->event, stored->arrival, outcome.label, outcome.known_at);
    }
    return ok();
}

}  // namespace tollgate::pipeline
