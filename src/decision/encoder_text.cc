// The template's view of an event: fields, windows, history, and the filter `bucket`.
#include "decision/encoder_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "decision/encoder_values.h"
#include "text/suggest.h"
#include "text/template.h"

namespace tollgate {

namespace {

// What the host's functions of one rendering work on. They belong to a Template that any thread may
// render, and take no argument that could carry this: so it is the thread's, set by render().
struct Rendering {
    const EncoderInput* input = nullptr;
    const Buckets* buckets = nullptr;  // null: every field is wanted, numbers are kept
    std::vector<BucketNumber>* numbers = nullptr;
    std::set<std::string>* names = nullptr;  // collected when the pack is loaded
    bool blank_history = false;              // history() gives rows of which nothing is known
    std::string unknown_name;                // the first name that the pack does not have
};
thread_local Rendering* rendering = nullptr;

void note_unknown(const std::string& message) {
    if (rendering->unknown_name.empty()) {
        rendering->unknown_name = message;
    }
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
    const auto near = nearest_name(word, std::span<const std::string>(known));
    return near ? "; did you mean \"" + std::string(*near) + "\"?" : "";
}

class FieldsObject;

struct Member {
    std::optional<FieldId> field;
    const FieldsObject* object = nullptr;  // counterparty, device, attributes
    enum class As : std::uint8_t { kValue, kHour, kWeekday } as = As::kValue;
};

// event, event.counterparty, event.attributes …
class FieldsObject : public TemplateObject {
  public:
    FieldsObject(std::string name, int digits) : name_(std::move(name)), digits_(digits) {}

    void add(std::string_view member, Member what) { members_[std::string(member)] = what; }
    FieldsObject* child(const std::string& member) {
        const auto [at, fresh] = children_.try_emplace(member);
        if (fresh) {
            at->second = std::make_unique<FieldsObject>(name_ + "." + member, digits_);
            members_[member].object = at->second.get();
        }
        return at->second.get();
    }

    TemplateValue attribute(std::string_view name) const override {
        const auto found = members_.find(name);
        if (found == members_.end()) {
            std::vector<std::string> known;
            known.reserve(members_.size());
            for (const auto& [member, what] : members_) {
                known.push_back(member);
            }
            note_unknown(name_ + " has no \"" + std::string(name) + "\"" +
                         did_you_mean(name, known));
            return TemplateValue::none();
        }
        const Member& member = found->second;
        if (!member.field) {
            return TemplateValue::object(member.object);
        }
        const auto index = static_cast<std::size_t>(*member.field);
        const std::span<const Value> fields = rendering->input->fields;
        const Value value = index < fields.size() ? fields[index] : Value::unknown();
        if (value.is_unknown() || value.is_error()) {
            return TemplateValue::none();
        }
        switch (member.as) {
            case Member::As::kHour:
                return TemplateValue::integer(
                    static_cast<std::int64_t>(to_double(value.number) / 3.6e9));
            case Member::As::kWeekday:
                return TemplateValue::integer(static_cast<std::int64_t>(to_double(value.number)) -
                                              1);
            case Member::As::kValue:
                break;
        }
        return template_value(value, digits_);
    }

  private:
    std::string name_;
    int digits_;
    std::map<std::string, Member, std::less<>> members_;
    std::map<std::string, std::unique_ptr<FieldsObject>> children_;
};

class WindowsObject : public TemplateObject {
  public:
    explicit WindowsObject(const WindowPlan& plan) {
        names_.reserve(plan.windows.size());
        digits_.reserve(plan.windows.size());
        for (std::size_t i = 0; i < plan.windows.size(); ++i) {
            const WindowDef& window = plan.windows[i];
            ids_.emplace(window.name, i);
            names_.push_back(window.name);
            digits_.push_back(window.type == ValueKind::kMoney ? digits_of(window.currency) : 0);
        }
    }
    TemplateValue attribute(std::string_view name) const override {
        const auto found = ids_.find(name);
        if (found == ids_.end()) {
            note_unknown("windows has no \"" + std::string(name) + "\"" +
                         did_you_mean(name, names_));
            return TemplateValue::none();
        }
        const std::span<const Value> values = rendering->input->windows;
        const std::size_t id = found->second;
        return id < values.size() ? template_value(values[id], digits_[id]) : TemplateValue::none();
    }

  private:
    std::map<std::string, std::size_t, std::less<>> ids_;
    std::vector<std::string> names_;
    std::vector<int> digits_;  // of each window's own currency, for money
};

Result<double> two_numbers(const TemplateCall& call, double& b, const char* what) {
    double a = NAN;
    b = NAN;
    if (call.positional.size() != 2) {
        return Error{Fault::kBadInput, std::string(what) + " takes two numbers"};
    }
    (void)call.positional[0].to_number(a);
    (void)call.positional[1].to_number(b);
    return a;
}

TemplateValue number_or_none(double value) {
    return std::isfinite(value) ? TemplateValue::real(value) : TemplateValue::none();
}

Result<TemplateValue> ratio(const TemplateCall& call) {
    double b = 0.0;
    TG_TRY(const double a, two_numbers(call, b, "ratio"));
    return number_or_none(b == 0.0 ? NAN : a / b);
}

Result<TemplateValue> minus(const TemplateCall& call) {
    double b = 0.0;
    TG_TRY(const double a, two_numbers(call, b, "minus"));
    return number_or_none(a - b);
}

Result<TemplateValue> days_since(const TemplateCall& call) {
    double then = NAN;
    if (call.positional.size() != 1) {
        return Error{Fault::kBadInput, "days_since takes a time"};
    }
    (void)call.positional[0].to_number(then);
    const double now = static_cast<double>(to_micros(rendering->input->at)) * 1e-6;
    return number_or_none((now - then) / 86400.0);
}

Result<const std::string*> name_argument(const TemplateCall& call, std::size_t index,
                                         const char* what) {
    if (call.positional.size() != index + 1 ||
        !call.positional[index].is(TemplateValue::Kind::kString)) {
        return Error{Fault::kBadInput, std::string(what) + " takes a field's name"};
    }
    const std::string& name = call.positional[index].string();
    if (!is_bucket_name(name)) {
        return Error{Fault::kBadInput,
                     "\"" + name +
                         "\" is no field's name: letters and digits, at most 16, a "
                         "letter first and last"};
    }
    if (rendering->names != nullptr) {
        rendering->names->insert(name);
    }
    return &name;
}

Result<TemplateValue> wants(const TemplateCall& call) {
    TG_TRY(const std::string* name, name_argument(call, 0, "wants"));
    return TemplateValue::boolean(rendering->buckets == nullptr ||
                                  rendering->buckets->find(*name).has_value());
}

Result<TemplateValue> bucket(const TemplateCall& call) {
    TG_TRY(const std::string* name, name_argument(call, 1, "bucket"));
    double value = NAN;
    (void)call.positional[0].to_number(value);
    if (rendering->buckets == nullptr) {
        if (rendering->numbers != nullptr) {
            rendering->numbers->push_back({*name, value});
        }
        return TemplateValue::string({});
    }
    const auto field = rendering->buckets->find(*name);
    std::string word;
    if (field) {
        rendering->buckets->word(*field, &value, word);
    }
    return TemplateValue::string(std::move(word));
}

}  // namespace

struct EncoderText::Impl {
    explicit Impl(Template t) : compiled(std::move(t)) {}
    Template compiled;
    std::unique_ptr<FieldsObject> event;
    std::unique_ptr<WindowsObject> windows;
    std::vector<std::string> names;

    Status collect_names();
    Status run(Rendering& state, std::string& out) const {
        Rendering* const before = std::exchange(rendering, &state);
        std::vector<TemplateValue> values;
        values.reserve(compiled.names().size());
        for (const std::string& name : compiled.names()) {
            values.push_back(name == "event"     ? TemplateValue::object(event.get())
                             : name == "windows" ? TemplateValue::object(windows.get())
                                                 : TemplateValue());
        }
        std::string text;
        Status done = compiled.render(values, text);
        rendering = before;
        if (!state.unknown_name.empty()) {
            return Error{Fault::kBadInput, "encoder.j2: " + state.unknown_name};
        }
        if (!done) {
            return done;
        }
        append_squeezed(text, out);
        return ok();
    }
};

// Renders an empty event twice: alone, and with a history of rows of which nothing is known, so
// that loops over a history are gone through. No event is quite like the second (a stored one has
// an age and often an amount), so what the template gets wrong there is no error; a name that the
// pack does not have is.
Status EncoderText::Impl::collect_names() {
    const EncoderInput nothing{};
    std::set<std::string> found;
    Rendering alone{.input = &nothing,
                    .buckets = nullptr,
                    .numbers = nullptr,
                    .names = &found,
                    .blank_history = false,
                    .unknown_name = {}};
    std::string text;
    if (Status done = run(alone, text); !done) {
        return done;
    }
    Rendering with_history = alone;
    with_history.blank_history = true;
    if (Status done = run(with_history, text); !done && !with_history.unknown_name.empty()) {
        return done;
    }
    names.assign(found.begin(), found.end());
    return ok();
}

namespace {

// history("account_id", 6): the stored events of that key before this one, newest first.
class HistoryFunction {
  public:
    HistoryFunction(const WindowPlan& plan, Currency currency)
        : slots_(history_slots(plan, currency)) {
        keys_.reserve(plan.keys.size());
        for (const KeySpec& key : plan.keys) {
            keys_.push_back(key.name);
        }
    }

    Result<TemplateValue> operator()(const TemplateCall& call) const {
        if (call.positional.size() != 2 || !call.positional[0].is(TemplateValue::Kind::kString) ||
            !call.positional[1].is(TemplateValue::Kind::kInteger) ||
            call.positional[1].integer() < 1 ||
            call.positional[1].integer() > EncoderText::kMaxHistory) {
            return Error{Fault::kBadInput, "history takes a key and how many events, 1 to " +
                                               std::to_string(EncoderText::kMaxHistory)};
        }
        const std::string& name = call.positional[0].string();
        const auto spec = std::find(keys_.begin(), keys_.end(), name);
        if (spec == keys_.end()) {
            return Error{Fault::kBadInput,
                         "history: no window is by \"" + name + "\"" + did_you_mean(name, keys_)};
        }
        return TemplateValue::list(rows(static_cast<std::size_t>(spec - keys_.begin()),
                                        static_cast<std::size_t>(call.positional[1].integer())));
    }

  private:
    TemplateValue::List rows(std::size_t spec, std::size_t most) const {
        if (rendering->blank_history) {
            return TemplateValue::List(most, blank_history_row(slots_));
        }
        TemplateValue::List out;
        const EncoderInput& input = *rendering->input;
        for (std::size_t i = 0; input.keys != nullptr && i < input.keys->count; ++i) {
            const EventKeys::Key& key = input.keys->keys[i];
            if (static_cast<std::size_t>(key.spec) != spec) {
                continue;
            }
            input.store->rows_before(key, {input.at, input.arrival}, most,
                                     [&](const std::uint64_t* row, Label label) {
                                         out.push_back(history_row(slots_, input.at, row, label));
                                     });
        }
        return out;
    }

    std::vector<HistorySlot> slots_;
    std::vector<std::string> keys_;
};

std::unique_ptr<FieldsObject> event_object(const FieldTable& fields, Currency currency,
                                           std::string_view zone, int digits) {
    auto event = std::make_unique<FieldsObject>("event", digits);
    for (const std::string& name : fields.names()) {
        const auto id = fields.find(name, currency, zone);
        if (!id) {
            continue;
        }
        const std::size_t dot = name.find('.');
        if (name == "local_time") {
            event->add("hour", {.field = id, .object = nullptr, .as = Member::As::kHour});
        } else if (name == "local_weekday") {
            event->add("weekday", {.field = id, .object = nullptr, .as = Member::As::kWeekday});
        }
        if (name == "amount.currency") {
            event->add("currency", {.field = id});
        } else if (dot == std::string::npos) {
            event->add(name, {.field = id});
        } else {
            event->child(name.substr(0, dot))->add(name.substr(dot + 1), {.field = id});
        }
    }
    return event;
}

}  // namespace

EncoderText::EncoderText(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EncoderText::~EncoderText() = default;

Result<std::unique_ptr<const EncoderText>> EncoderText::compile(const std::string& source,
                                                                const FieldTable& fields,
                                                                const WindowPlan& plan,
                                                                Currency currency,
                                                                std::string_view zone) {
    const int digits = digits_of(currency);
    TemplateHost host;
    host.filters.emplace_back("bucket", bucket);
    host.functions.emplace_back("ratio", ratio);
    host.functions.emplace_back("minus", minus);
    host.functions.emplace_back("days_since", days_since);
    host.functions.emplace_back("wants", wants);
    host.functions.emplace_back("history", HistoryFunction(plan, currency));
    const TemplateLimits limits{.steps = 50'000, .depth = 16, .output_bytes = kMaxText};
    TG_TRY(Template compiled, Template::parse("encoder.j2", source, std::move(host), limits));
    for (std::size_t i = 0; i < compiled.names().size(); ++i) {
        const std::string& name = compiled.names()[i];
        if (name != "event" && name != "windows" && compiled.is_read(i)) {
            return Error{Fault::kBadInput, "encoder.j2: there is no \"" + name +
                                               "\" here; a template sees event, windows, history, "
                                               "ratio, minus, days_since, wants and bucket"};
        }
    }
    auto impl = std::make_unique<Impl>(std::move(compiled));
    impl->event = event_object(fields, currency, zone, digits);
    impl->windows = std::make_unique<WindowsObject>(plan);
    if (Status done = impl->collect_names(); !done) {
        return std::move(done).error();
    }
    return std::unique_ptr<const EncoderText>(new EncoderText(std::move(impl)));
}

Status EncoderText::render(const EncoderInput& input, const Buckets& buckets,
                           std::string& out) const {
    Rendering state{.input = &input,
                    .buckets = &buckets,
                    .numbers = nullptr,
                    .names = nullptr,
                    .blank_history = false,
                    .unknown_name = {}};
    return impl_->run(state, out);
}

Status EncoderText::numbers(const EncoderInput& input, std::vector<BucketNumber>& out) const {
    Rendering state{.input = &input,
                    .buckets = nullptr,
                    .numbers = &out,
                    .names = nullptr,
                    .blank_history = false,
                    .unknown_name = {}};
    std::string text;
    return impl_->run(state, text);
}

const std::vector<std::string>& EncoderText::names() const {
    return impl_->names;
}

Status EncoderText::check(const Buckets& buckets) const {
    for (const std::string& name : buckets.names()) {
        if (!std::binary_search(impl_->names.begin(), impl_->names.end(), name)) {
            return Error{Fault::kBadInput, "the model reads \"" + name +
                                               "\", which encoder.j2 never makes" +
                                               did_you_mean(name, impl_->names)};
        }
    }
    return ok();
}

}  // namespace tollgate
