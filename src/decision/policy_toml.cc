// Reads policy.toml; the only file of the room that includes toml++.
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <limits>

#include "decision/describe.h"
#include "decision/event_json.h"
#include "decision/policy.h"

namespace tollgate {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;

Error at_line(std::int64_t line, const std::string& what) {
    return {Fault::kBadInput, "policy.toml:" + std::to_string(line) + ": " + what};
}

// One table of the file. The first thing wrong is kept in `status`, shared by all tables; what is
// read after it is default, so that the functions below need no error path of their own.
class Table {
  public:
    Table(const toml::table* table, std::string path, Status& status)
        : table_(table), path_(std::move(path)), status_(status) {}

    void only(std::initializer_list<std::string_view> known) const {
        each([&](const std::string& name, const toml::node& node) {
            if (std::find(known.begin(), known.end(), name) == known.end()) {
                fail(node, path_of(name) + " is not a key of policy.toml" +
                               did_you_mean(name, std::span(known.begin(), known.size())));
            }
        });
    }

    // An absent table reads as one without keys.
    Table table(std::string_view key) const {
        const toml::node* node = find(key);
        if (node != nullptr && !node->is_table()) {
            fail(*node, path_of(key) + " must be a table");
            node = nullptr;
        }
        return {node == nullptr ? nullptr : node->as_table(), path_of(key), status_};
    }

    bool has(std::string_view key) const { return find(key) != nullptr; }

    // Leaves `out` as it is when the key is absent.
    void text(std::string_view key, std::string& out) const {
        read<std::string>(key, "a string", out);
    }
    void real(std::string_view key, double& out) const {
        const toml::node* node = find(key);
        if (node != nullptr && node->is_integer()) {
            out = static_cast<double>(node->as_integer()->get());
            return;
        }
        read<double>(key, "a number", out);
    }
    void boolean(std::string_view key, bool& out) const { read<bool>(key, "true or false", out); }
    template <class T>
    void count(std::string_view key, T& out, std::int64_t unit = 1) const {
        std::int64_t value = -1;
        read<std::int64_t>(key, "a whole number", value);
        if (!has(key) || !status_) {
            return;
        }
        if (value < 0 || value > 1'000'000'000) {
            fail(*find(key),
                 path_of(key) + " " + std::to_string(value) + " is outside 0 to 1000000000");
            return;
        }
        out = T(value * unit);
    }
    void milliseconds(std::string_view key, std::chrono::milliseconds& out) const {
        auto value = std::uint32_t{0};
        count(key, value);
        if (has(key) && status_) {
            out = std::chrono::milliseconds(value);
        }
    }
    // "90s", "5m", "24h", "7d".
    void span(std::string_view key, Micros& out) const {
        std::string text;
        this->text(key, text);
        if (!has(key) || !status_) {
            return;
        }
        std::int64_t number = 0;
        const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const std::string_view unit(rest,
                                    static_cast<std::size_t>(text.data() + text.size() - rest));
        const std::int64_t seconds = unit == "s"   ? 1
                                     : unit == "m" ? 60
                                     : unit == "h" ? 3'600
                                     : unit == "d" ? 86'400
                                                   : 0;
        if (error != std::errc{} || seconds == 0 || number < 0 || number > 1'000'000) {
            fail(*find(key), path_of(key) + " " + short_quote(text) +
                                 " is not a span such as \"90s\", \"5m\", \"24h\", \"7d\"");
            return;
        }
        out = std::chrono::seconds(number * seconds);
    }
    // The index of the value among `names`; `otherwise` when absent.
    std::size_t choice(std::string_view key, std::initializer_list<std::string_view> names,
                       std::size_t otherwise) const {
        std::string text;
        this->text(key, text);
        if (!has(key) || !status_) {
            return otherwise;
        }
        const auto* at = std::find(names.begin(), names.end(), text);
        if (at == names.end()) {
            std::string list;
            for (const std::string_view name : names) {
                list += (list.empty() ? "" : ", ") + std::string(name);
            }
            fail(*find(key), path_of(key) + " " + short_quote(text) + " is not one of " + list);
            return otherwise;
        }
        return static_cast<std::size_t>(at - names.begin());
    }
    void verdict(std::string_view key, Verdict& out) const {
        out = static_cast<Verdict>(choice(key, {"approve", "challenge", "review", "decline"},
                                          static_cast<std::size_t>(out)));
    }

    template <class F>
    void each(F&& f) const {
        if (table_ == nullptr) {
            return;
        }
        for (const auto& [key, node] : *table_) {
            f(std::string(key.str()), node);
        }
    }
    void fail(const toml::node& node, const std::string& what) const {
        if (status_) {
            status_ = at_line(node.source().begin.line, what);
        }
    }
    void require(std::string_view key) const {
        if (!has(key) && status_) {
            status_ = at_line(table_ == nullptr ? 1 : table_->source().begin.line,
                              path_of(key) + " is required");
        }
    }
    std::string path_of(std::string_view key) const {
        return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
    }
    Status& status() const { return status_; }

  private:
    template <class T>
    void read(std::string_view key, std::string_view due, T& out) const {
        const toml::node* node = find(key);
        if (node == nullptr) {
            return;
        }
        const auto value = node->value_exact<T>();
        if (!value) {
            fail(*node, path_of(key) + " must be " + std::string(due));
            return;
        }
        out = *value;
    }

    const toml::node* find(std::string_view key) const {
        return table_ == nullptr ? nullptr : table_->get(key);
    }

    const toml::table* table_;  // null: absent
    std::string path_;
    Status& status_;
};

void read_pack(const Table& pack, Policy& policy) {
    pack.only({"name", "currency", "time_zone"});
    pack.require("name");
    pack.require("currency");
    pack.text("name", policy.name);
    pack.text("time_zone", policy.time_zone);
    std::string code;
    pack.text("currency", code);
    if (pack.status()) {
        const auto currency = currency_of(code);
        if (currency) {
            policy.currency = *currency;
        } else {
            pack.status() =
                Error{Fault::kBadInput, "policy.toml: pack." + currency.error().message};
        }
    }
}

void read_limits(const Table& limits, Policy& policy) {
    limits.only({"payment", "transfer", "credit_application", "action"});
    limits.verdict("action", policy.limits.action);
    for (std::size_t i = 0; i < policy.limits.by_type.size(); ++i) {
        const std::string_view key = to_text(static_cast<EventType>(i));
        std::string text;
        limits.text(key, text);
        if (!limits.has(key) || !limits.status()) {
            continue;
        }
        const auto money = parse_money(limits.path_of(key), text, policy.currency);
        if (!money) {
            limits.status() = Error{Fault::kBadInput, "policy.toml: " + money.error().message};
            return;
        }
        policy.limits.by_type[i] = *money;
    }
}

void read_attributes(const Table& attributes, const Table& privacy, Schema& schema) {
    attributes.each([&](const std::string& name, const toml::node&) {
        const Table one = attributes.table(name);
        one.only({"type", "personal"});
        one.require("type");
        AttributeDef def;
        def.name = name;
        def.type = static_cast<AttributeType>(one.choice(
            "type", {"string", "integer", "decimal", "boolean", "timestamp", "money"}, 0));
        one.boolean("personal", def.personal);
        schema.attributes.push_back(std::move(def));
    });
    std::sort(schema.attributes.begin(), schema.attributes.end(),
              [](const AttributeDef& a, const AttributeDef& b) { return a.name < b.name; });
    privacy.only({"personal"});
    privacy.each([&](const std::string& key, const toml::node& node) {
        const toml::array* names = node.as_array();
        if (names == nullptr || names->size() > 64) {
            privacy.fail(node, privacy.path_of(key) + " must be an array of at most 64 names");
            return;
        }
        for (const toml::node& name : *names) {
            const auto text = name.value_exact<std::string>();
            if (!text) {
                privacy.fail(name, privacy.path_of(key) + " must hold strings");
                return;
            }
            schema.personal_fields.push_back(*text);
        }
    });
    std::sort(schema.personal_fields.begin(), schema.personal_fields.end());
}

bool is_date(std::string_view text) {
    return text.size() == 10 && parse_rfc3339("date", std::string(text) + "T00:00:00Z").has_value();
}

// A decimal between 0.000000001 and 1000000000.
std::optional<Number> rate_of(std::string_view text) {
    const auto number =
        text.find('/') == std::string_view::npos ? parse_number(text) : std::nullopt;
    // num / den within the bounds, without dividing: den is at most 10^9.
    constexpr std::int64_t kBillion = 1'000'000'000;
    if (!number || number->den > kBillion || number->num * kBillion < number->den ||
        number->num > Int128{kBillion} * number->den) {
        return std::nullopt;
    }
    return number;
}

void read_rates(const Table& rates, Policy& policy) {
    rates.each([&](const std::string& code, const toml::node& node) {
        const auto currency = currency_of(code);
        if (!currency || *currency == policy.currency) {
            rates.fail(node, rates.path_of(code) + (currency ? " is the pack's own currency"
                                                             : ": " + currency.error().message));
            return;
        }
        const Table dates = rates.table(code);
        dates.each([&](const std::string& date, const toml::node& value) {
            const auto text = value.value_exact<std::string>();
            const auto rate = text ? rate_of(*text) : std::nullopt;
            if (!is_date(date)) {
                dates.fail(value, dates.path_of(date) + " is not a date such as \"2026-12-01\"");
            } else if (!rate) {
                dates.fail(value,
                           dates.path_of(date) +
                               " must be a decimal string such as \"1.0842\", 0.000000001 to "
                               "1000000000 with at most 9 decimals");
            } else {
                policy.rates.push_back({*currency, date, *rate});
            }
        });
    });
    std::sort(policy.rates.begin(), policy.rates.end(), [](const RateEntry& a, const RateEntry& b) {
        return a.currency == b.currency ? a.date.compare(b.date) < 0
                                        : a.currency.numeric < b.currency.numeric;
    });
}

void read_numbers(const Table& root, Policy& policy) {
    const Table timeouts = root.table("timeouts");
    timeouts.only({"model_ms", "decide_ms", "deep_ms", "store_confirm_ms", "cold_key_ms"});
    timeouts.milliseconds("model_ms", policy.timeouts.model);
    timeouts.milliseconds("decide_ms", policy.timeouts.decide);
    timeouts.milliseconds("deep_ms", policy.timeouts.deep);
    timeouts.milliseconds("store_confirm_ms", policy.timeouts.store_confirm);
    timeouts.milliseconds("cold_key_ms", policy.timeouts.cold_key);

    const Table bands = root.table("bands");
    bands.only(
        {"p_low", "p_high", "low", "high", "grey_share", "decline_precision", "high_action"});
    bands.real("p_low", policy.bands.p_low);
    bands.real("p_high", policy.bands.p_high);
    bands.real("low", policy.bands.low);
    bands.real("high", policy.bands.high);
    bands.real("grey_share", policy.bands.grey_share);
    bands.real("decline_precision", policy.bands.decline_precision);
    bands.verdict("high_action", policy.bands.high_action);
    const Table model = root.table("model");
    model.only({"max_ece", "min_ap"});
    model.real("max_ece", policy.model.max_ece);
    model.real("min_ap", policy.model.min_ap);

    const Table cost = root.table("cost");
    cost.only({"max_rules", "max_windows", "max_rules_us"});
    cost.count("max_rules", policy.cost.max_rules);
    cost.count("max_windows", policy.cost.max_windows);
    cost.count("max_rules_us", policy.cost.max_cost_ns, 1'000);
}

void read_modes(const Table& root, Policy& policy) {
    const Table fallback = root.table("fallback");
    fallback.only({"default"});
    fallback.verdict("default", policy.fallback);

    const Table store = root.table("store");
    store.only({"durability", "on_store_lost"});
    policy.store.durability =
        static_cast<StoreDurability>(store.choice("durability", {"os", "fsync"}, 0));
    policy.store.on_store_lost =
        static_cast<StoreLost>(store.choice("on_store_lost", {"decide", "decline"}, 0));

    const Table time = root.table("time");
    time.only({"stream_clock", "max_ahead", "late_after", "lateness"});
    policy.clock.mode = static_cast<ClockMode>(time.choice("stream_clock", {"wall", "event"}, 0));
    time.span("max_ahead", policy.clock.max_ahead);
    time.span("late_after", policy.clock.late_after);
    time.span("lateness", policy.clock.lateness);

    const Table review = root.table("review");
    review.only({"hold_hours", "on_expiry"});
    review.count("hold_hours", policy.review.hold);
    review.verdict("on_expiry", policy.review.on_expiry);
}

// Finds the line of the key that a message of validate() begins with.
Error with_line(const Error& error, const toml::table& root) {
    const std::string key = error.message.substr(0, error.message.find(' '));
    const toml::node* node = root.at_path(key).node();
    return node == nullptr ? Error{error.fault, "policy.toml: " + error.message}
                           : at_line(node->source().begin.line, error.message);
}

}  // namespace

Result<Policy> parse_policy(std::string_view text) {
    if (text.size() > kMaxBytes) {
        return Error{Fault::kTooLarge, "policy.toml has " + std::to_string(text.size()) +
                                           " bytes, allowed are 0 to 1048576"};
    }
    try {
        const toml::table file = toml::parse(text);
        Status status = ok();
        Policy policy;
        const Table root(&file, "", status);
        root.only({"pack", "timeouts", "bands", "model", "limits", "fallback", "store", "time",
                   "attributes", "privacy", "rates", "cost", "review"});
        read_pack(root.table("pack"), policy);
        if (status) {
            read_limits(root.table("limits"), policy);
            read_attributes(root.table("attributes"), root.table("privacy"), policy.schema);
            read_rates(root.table("rates"), policy);
            read_numbers(root, policy);
            read_modes(root, policy);
        }
        if (!status) {
            return std::move(status).error();
        }
        const Status valid = validate(policy);
        if (!valid) {
            return with_line(valid.error(), file);
        }
        return policy;
    } catch (const toml::parse_error& error) {  // how toml++ reports syntax
        return at_line(error.source().begin.line, std::string(error.description()));
    } catch (const std::exception& error) {
        return Error{Fault::kBadInput, "policy.toml: " + std::string(error.what())};
    }
}

}  // namespace tollgate
