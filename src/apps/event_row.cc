// One event through fields, keys and windows.
#include "apps/event_row.h"

#include "base/hash.h"
#include "decision/event_fields.h"

namespace tollgate::apps {

void EventRow::set(const Event& event) {
    event_ = &event;
    fields_.resize(pack_.fields.size());
    fill_fields(event, pack_.fields, pack_.rates, pack_.zones, std::nullopt, fields_);
    WindowStore::keys_of(pack_.rules->plan, fields_, keys_);
}

EvalInput EventRow::input() const {
    return {.fields = fields_,
            .windows = values_.values,
            .lists = &pack_.lists,
            .now = event_->occurred_at};
}

const WindowValues& EventRow::assess(WindowStore& windows, std::uint64_t arrival, RecordMode mode,
                                     Label label, EventTime known_at) {
    const EvalInput input{
        .fields = fields_, .windows = {}, .lists = &pack_.lists, .now = event_->occurred_at};
    const WindowEvent at{.at = event_->occurred_at,
                         .arrival = arrival,
                         .id_hash = hash64(event_->event_id),
                         .label = label,
                         .label_known_at = known_at};
    if (mode == RecordMode::kLoad) {  // its named numbers are not known
        values_.kept.assign(pack_.rules->plan.keeps.size(), INT64_MIN);
    }
    windows.assess(pack_.rules->plan, keys_, at, input, mode, values_);
    return values_;
}

Status EventRow::label(WindowStore& windows, std::uint64_t arrival, Label label,
                       EventTime known_at) {
    return windows.apply_label(keys_, event_->occurred_at, arrival, label, known_at);
}

}  // namespace tollgate::apps
