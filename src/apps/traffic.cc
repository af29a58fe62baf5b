// Reads traffic files; the format is told by the first line.
#include "apps/traffic.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "apps/line_reader.h"
#include "decision/event_json.h"
#include "text/json.h"
#include "text/json_writer.h"

namespace tollgate::apps {

namespace {

constexpr std::string_view kHandbookHeader = "TRANSACTION_ID,TX_DATETIME,";

std::string_view take(std::string_view& line) {
    const std::size_t comma = line.find(',');
    const std::string_view field = line.substr(0, comma);
    line = comma == std::string_view::npos ? std::string_view{} : line.substr(comma + 1);
    return field;
}

template <class T>
bool number(std::string_view text, T& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size();
}

// "2018-04-01 00:00:31" as UTC.
bool timestamp(std::string_view text, std::int64_t& out) {
    if (text.size() != 19) {
        return false;
    }
    std::string iso(text);
    iso[10] = 'T';
    iso += 'Z';
    const auto parsed = parse_rfc3339("TX_DATETIME", iso);
    if (!parsed) {
        return false;
    }
    out = to_micros(*parsed) / 1'000'000;
    return true;
}

// Decimal digits to cents, half to even; the file's amounts have up to 17 digits.
bool cents(std::string_view text, std::int64_t& out) {
    const std::size_t dot = text.find('.');
    std::int64_t whole = 0;
    if (!number(text.substr(0, dot), whole) || whole < 0 || whole > 1'000'000'000) {
        return false;
    }
    std::string digits(dot == std::string_view::npos ? "" : text.substr(dot + 1));
    if (digits.find_first_not_of("0123456789") != std::string::npos) {
        return false;
    }
    const std::string rest = digits.size() > 2 ? digits.substr(2) : "";
    digits.resize(2, '0');
    std::int64_t fraction = 0;
    if (!number(std::string_view(digits), fraction)) {
        return false;
    }
    out = whole * 100 + fraction;
    if (!rest.empty()) {
        const bool more = rest[0] > '5' ||
                          (rest[0] == '5' && rest.find_first_not_of('0', 1) != std::string::npos);
        const bool half = rest[0] == '5' && !more;
        out += more || (half && out % 2 != 0) ? 1 : 0;
    }
    return true;
}

void append_value(JsonWriter& out, const JsonValue& value) {
    switch (value.kind()) {
        case JsonKind::kNull:
            out.null();
            return;
        case JsonKind::kBool:
            out.boolean(value.boolean());
            return;
        case JsonKind::kInteger:
            out.integer(value.integer());
            return;
        case JsonKind::kUnsigned:
            out.whole(value.whole());
            return;
        case JsonKind::kDouble:
            out.number(value.number());
            return;
        case JsonKind::kString:
            out.string(value.string());
            return;
        case JsonKind::kArray:
            out.begin_array();
            (void)value.each_item([&out](JsonValue item) {
                append_value(out, item);
                return true;
            });
            out.end_array();
            return;
        case JsonKind::kObject:
            out.begin_object();
            (void)value.each_member([&out](std::string_view key, JsonValue member) {
                out.key(key);
                append_value(out, member);
                return true;
            });
            out.end_object();
            return;
    }
}

class JsonlReader : public TrafficReader {
  public:
    JsonlReader(std::unique_ptr<LineReader> lines, std::string path)
        : lines_(std::move(lines)), path_(std::move(path)) {}

    void first(std::string line) { first_ = std::move(line); }

    Result<bool> next(TrafficItem& item) override {
        std::string_view line;
        do {
            if (!first_.empty()) {
                held_ = std::exchange(first_, {});
                line = held_;
            } else {
                TG_TRY(const bool more, lines_->next(line));
                if (!more) {
                    return false;
                }
            }
        } while (line.empty());
        Status read = parse(line, item);
        if (!read) {
            return Error{read.error().fault, path_ + ":" + std::to_string(lines_->line_number()) +
                                                 ": " + read.error().message};
        }
        return true;
    }
    double progress() const override {
        return lines_->file_size() == 0 ? -1.0
                                        : static_cast<double>(lines_->bytes_read()) /
                                              static_cast<double>(lines_->file_size());
    }

  private:
    Status parse(std::string_view line, TrafficItem& item) {
        TG_TRY(const JsonValue root, json_.parse(line));
        if (!root.is(JsonKind::kObject)) {
            return Error{Fault::kBadInput,
                         "a traffic line is an object {\"event\":{...},\"outcome\":{...}|null}"};
        }
        const auto event = root.find("event");
        if (!event || !event->is(JsonKind::kObject)) {
            return Error{Fault::kBadInput, "member \"event\" is missing or no object"};
        }
        item = {};
        JsonWriter writer(item.event_json);
        append_value(writer, *event);
        const auto text = [&event](std::string_view key) {
            const auto member = event->find(key);
            return member && member->is(JsonKind::kString) ? std::string(member->string())
                                                           : std::string();
        };
        item.event_id = text("event_id");
        item.account_id = text("account_id");
        TG_TRY(item.at, parse_rfc3339("event.occurred_at", text("occurred_at")));
        if (const auto outcome = root.find("outcome"); outcome && !outcome->is(JsonKind::kNull)) {
            TG_TRY(const Outcome parsed, parse_outcome(*outcome));
            JsonWriter out(item.outcome_json);
            append_outcome(out, parsed);
            item.label = parsed.label;
            item.known_at = parsed.known_at;
        }
        if (const auto scenario = root.find("scenario");
            scenario && scenario->is(JsonKind::kString)) {
            item.scenario = std::string(scenario->string());
        }
        return ok();
    }

    std::unique_ptr<LineReader> lines_;
    std::string path_;
    std::string first_;
    std::string held_;
    JsonDocument json_;
};

class HandbookReader : public TrafficReader {
  public:
    explicit HandbookReader(std::vector<HandbookRow> rows) : rows_(std::move(rows)) {}
    Result<bool> next(TrafficItem& item) override {
        if (at_ == rows_.size()) {
            return false;
        }
        item = handbook_item(rows_[at_++]);
        return true;
    }
    double progress() const override {
        return rows_.empty() ? 1.0 : static_cast<double>(at_) / static_cast<double>(rows_.size());
    }

  private:
    std::vector<HandbookRow> rows_;
    std::size_t at_ = 0;
};

Result<HandbookRow> parse_row(std::string_view line) {
    HandbookRow row;
    std::string_view rest = line;
    int fraud = 0;
    const bool good = number(take(rest), row.id) && timestamp(take(rest), row.at_s) &&
                      number(take(rest), row.customer) && number(take(rest), row.terminal) &&
                      cents(take(rest), row.cents) && number(take(rest), fraud) &&
                      (fraud == 0 || fraud == 1);
    if (!good) {
        return Error{
            Fault::kBadInput,
            "not a row of TRANSACTION_ID,TX_DATETIME,CUSTOMER_ID,TERMINAL_ID,TX_AMOUNT,TX_FRAUD"};
    }
    row.fraud = fraud == 1;
    return row;
}

}  // namespace

Result<std::vector<HandbookRow>> read_handbook(const std::string& path) {
    TG_TRY(const auto lines, LineReader::open(path));
    std::vector<HandbookRow> rows;
    std::string_view line;
    for (;;) {
        TG_TRY(const bool more, lines->next(line));
        if (!more) {
            break;
        }
        if (lines->line_number() == 1) {
            if (line.substr(0, kHandbookHeader.size()) != kHandbookHeader) {
                return Error{Fault::kBadInput, path + ":1: not the Handbook's header " +
                                                   std::string(kHandbookHeader) + "..."};
            }
            continue;
        }
        const Result<HandbookRow> row = parse_row(line);
        if (!row) {
            return Error{row.error().fault, path + ":" + std::to_string(lines->line_number()) +
                                                ": " + row.error().message};
        }
        rows.push_back(*row);
    }
    std::sort(rows.begin(), rows.end(), [](const HandbookRow& a, const HandbookRow& b) {
        return a.at_s != b.at_s ? a.at_s < b.at_s : a.id < b.id;
    });
    return rows;
}

Event handbook_event(const HandbookRow& row) {
    Event event;
    event.event_id = "hb-" + std::to_string(row.id);
    event.type = EventType::kPayment;
    event.occurred_at = from_micros(row.at_s * 1'000'000);
    event.account_id = "C" + std::to_string(row.customer);
    event.amount = {row.cents, Currency{840}};
    event.counterparty = Counterparty{.id = "T" + std::to_string(row.terminal),
                                      .kind = "terminal",
                                      .category = {},
                                      .country = {}};
    return event;
}

Outcome handbook_outcome(const HandbookRow& row, std::int64_t label_delay_days) {
    Outcome outcome;
    outcome.outcome_id = "ho-" + std::to_string(row.id);
    outcome.event_id = "hb-" + std::to_string(row.id);
    outcome.label = row.fraud ? Label::kFraud : Label::kLegit;
    outcome.kind = row.fraud ? OutcomeKind::kChargeback : OutcomeKind::kCleared;
    outcome.known_at = from_micros((row.at_s + label_delay_days * 86'400) * 1'000'000);
    return outcome;
}

TrafficItem handbook_item(const HandbookRow& row, std::int64_t label_delay_days) {
    TrafficItem item;
    const Event event = handbook_event(row);
    const Outcome outcome = handbook_outcome(row, label_delay_days);
    JsonWriter writer(item.event_json);
    append_event(writer, event, Schema{});
    JsonWriter out(item.outcome_json);
    append_outcome(out, outcome);
    item.scenario = "handbook";
    item.event_id = event.event_id;
    item.account_id = event.account_id;
    item.at = event.occurred_at;
    item.label = outcome.label;
    item.known_at = outcome.known_at;
    return item;
}

Result<std::unique_ptr<TrafficReader>> TrafficReader::open(const std::string& path) {
    TG_TRY(auto lines, LineReader::open(path));
    std::string_view line;
    TG_TRY(const bool any, lines->next(line));
    if (any && line.substr(0, kHandbookHeader.size()) == kHandbookHeader) {
        TG_TRY(auto rows, read_handbook(path));
        return std::unique_ptr<TrafficReader>(std::make_unique<HandbookReader>(std::move(rows)));
    }
    auto reader = std::make_unique<JsonlReader>(std::move(lines), path);
    reader->first(std::string(line));
    return std::unique_ptr<TrafficReader>(std::move(reader));
}

}  // namespace tollgate::apps
