// Personal values sealed into records and opened again.
#include "decision/record_seal.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/hash.h"
#include "decision/describe.h"
#include "decision/event_json.h"

namespace tollgate {
namespace {

constexpr std::string_view kPrefix = "sha256:";
constexpr std::size_t kSealBytes = 71;
constexpr std::string_view kAttributes = "attributes.";

std::string seal_of(const Salt& salt, std::string_view json) {
    Sha256 hash;
    hash.update({salt.data(), salt.size()});
    hash.update(json);
    return std::string(kPrefix) + to_hex(hash.finish());
}

Error corrupt(const std::string& what) {
    return {Fault::kCorrupt, "record: " + what};
}

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

std::optional<Salt> salt_of(std::string_view hex) {
    Salt salt{};
    if (hex.size() != 2 * salt.size() || !std::all_of(hex.begin(), hex.end(), is_hex)) {
        return std::nullopt;
    }
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    for (std::size_t i = 0; i < salt.size(); ++i) {
        salt[i] = static_cast<char>(digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1]));
    }
    return salt;
}

// An id keeps its seal once erased, so that the event is still an event.
bool is_id(std::string_view path) {
    return path == "account_id" || path == "counterparty.id" || path == "device.id" ||
           path == "parent_id";
}

void seal_member(std::string_view path, std::optional<std::string>& text, const Schema& schema,
                 Sealer& sealer) {
    if (text && is_personal(schema, path)) {
        text = sealer.seal_text(path, *text);
    }
}

}  // namespace

bool is_personal(const Schema& schema, std::string_view path) {
    if (path.starts_with(kAttributes)) {
        const auto index = schema.find(path.substr(kAttributes.size()));
        return index && schema.attributes[*index].personal;
    }
    return std::find(schema.personal_fields.begin(), schema.personal_fields.end(), path) !=
           schema.personal_fields.end();
}

bool is_seal(std::string_view text) {
    return text.size() == kSealBytes && text.starts_with(kPrefix) &&
           std::all_of(text.begin() + kPrefix.size(), text.end(), is_hex);
}

std::string Sealer::seal(std::string_view path, std::string_view json) {
    const Salt salt = salts_(of_, path);
    if (!any_) {
        out_.begin_object();
        any_ = true;
    }
    out_.key(path);
    out_.begin_object();
    out_.key("salt");
    out_.string(to_hex(std::string_view(salt.data(), salt.size())));
    out_.key("value");
    out_.raw(json);
    out_.end_object();
    return seal_of(salt, json);
}

std::string Sealer::seal_text(std::string_view path, std::string_view text) {
    std::string json;
    append_json_string(json, text);
    return seal(path, json);
}

std::string Sealer::take() {
    if (any_) {
        out_.end_object();
    }
    return std::move(text_);
}

Event sealed_event(const Event& event, const Schema& schema, Sealer& sealer) {
    Event sealed = event;
    if (is_personal(schema, "account_id")) {
        sealed.account_id = sealer.seal_text("account_id", event.account_id);
    }
    if (sealed.counterparty) {
        seal_member("counterparty.id", sealed.counterparty->id, schema, sealer);
        seal_member("counterparty.country", sealed.counterparty->country, schema, sealer);
    }
    if (sealed.device) {
        seal_member("device.id", sealed.device->id, schema, sealer);
        seal_member("device.ip_country", sealed.device->ip_country, schema, sealer);
    }
    seal_member("memo", sealed.memo, schema, sealer);
    seal_member("parent_id", sealed.parent_id, schema, sealer);
    for (std::size_t i = 0; i < sealed.attributes.size(); ++i) {
        auto& value = sealed.attributes[i];
        if (!value || !schema.attributes[i].personal) {
            continue;
        }
        std::string json;
        JsonWriter writer(json);
        append_attribute(writer, *value, event.amount.currency);
        value = AttributeValue{
            AttributeType::kString,
            sealer.seal(std::string(kAttributes) + schema.attributes[i].name, json), 0};
    }
    return sealed;
}

Result<Unsealer> Unsealer::read(std::string_view sidecar) {
    Unsealer unsealer;
    if (sidecar.empty()) {
        return unsealer;
    }
    JsonDocument document;
    const auto json = document.parse(sidecar);
    if (!json || !json->is(JsonKind::kObject)) {
        return corrupt("the personal values are not readable");
    }
    const bool good = json->each_member([&](std::string_view path, const JsonValue& entry) {
        if (!entry.is(JsonKind::kObject)) {
            return false;
        }
        const auto salt_text = entry.find("salt");
        const auto value = entry.find("value");
        const auto salt = salt_text && salt_text->is(JsonKind::kString)
                              ? salt_of(salt_text->string())
                              : std::nullopt;
        if (!salt || !value) {
            return false;
        }
        std::string text;
        JsonWriter writer(text);
        append_json(writer, *value);
        unsealer.salts_.emplace(path, *salt);
        unsealer.values_.emplace(path, std::move(text));
        return true;
    });
    if (!good) {
        return corrupt("the personal values are not readable");
    }
    return unsealer;
}

Result<std::optional<std::string>> Unsealer::open(std::string_view path, std::string_view seal) {
    const auto value = values_.find(path);
    if (value == values_.end()) {
        redacted_.emplace_back(path);
        return std::optional<std::string>{};
    }
    if (seal_of(salts_.find(path)->second, value->second) != seal) {
        return corrupt(std::string(path) + ": the kept value does not fit its hash");
    }
    return std::optional(value->second);
}

Result<std::string> clear_event(const JsonValue& event, const Schema& schema, Unsealer& unsealer) {
    std::string text;
    JsonWriter out(text);
    Status status = ok();
    const std::function<bool(const std::string&, std::string_view, const JsonValue&)> member =
        [&](const std::string& prefix, std::string_view name, const JsonValue& value) {
            const std::string path = prefix + std::string(name);
            if (prefix.empty() && name != "amount" && value.is(JsonKind::kObject)) {
                out.key(name);
                out.begin_object();
                value.each_member([&](std::string_view inner, const JsonValue& v) {
                    return member(path + ".", inner, v);
                });
                out.end_object();
                return status.has_value();
            }
            if (!is_personal(schema, path) || !value.is(JsonKind::kString) ||
                !is_seal(value.string())) {
                out.key(name);
                append_json(out, value);
                return true;
            }
            auto clear = unsealer.open(path, value.string());
            if (!clear) {
                status = std::move(clear).error();
                return false;
            }
            if (*clear || is_id(path)) {
                out.key(name);
                *clear ? out.raw(**clear) : out.string(value.string());
            }
            return true;
        };
    out.begin_object();
    event.each_member(
        [&](std::string_view name, const JsonValue& value) { return member("", name, value); });
    if (!status) {
        return std::move(status).error();
    }
    out.end_object();
    return text;
}

void append_json(JsonWriter& out, const JsonValue& json) {
    switch (json.kind()) {
        case JsonKind::kNull:
            return out.null();
        case JsonKind::kBool:
            return out.boolean(json.boolean());
        case JsonKind::kInteger:
            return out.integer(json.integer());
        case JsonKind::kUnsigned:
            return out.whole(json.whole());
        case JsonKind::kDouble:
            return out.number(json.number());
        case JsonKind::kString:
            return out.string(json.string());
        case JsonKind::kArray:
            out.begin_array();
            json.each_item([&](const JsonValue& item) {
                append_json(out, item);
                return true;
            });
            return out.end_array();
        case JsonKind::kObject:
            out.begin_object();
            json.each_member([&](std::string_view name, const JsonValue& value) {
                out.key(name);
                append_json(out, value);
                return true;
            });
            return out.end_object();
    }
}

Salt random_salt(std::string_view /*of*/, std::string_view /*path*/) {
    const std::string bytes = random_bytes(sizeof(Salt));
    Salt salt{};
    std::copy(bytes.begin(), bytes.end(), salt.begin());
    return salt;
}

SaltFn derived_salts(std::string secret) {
    return [secret = std::move(secret)](std::string_view of, std::string_view path) {
        // Lengths before the parts: ("ab", "c") and ("a", "bc") must differ.
        const std::string head =
            std::to_string(secret.size()) + ":" + secret + ":" + std::to_string(of.size()) + ":";
        Sha256 hash;
        hash.update(head);
        hash.update(of);
        hash.update(path);
        const Digest digest = hash.finish();
        Salt salt{};
        std::transform(digest.begin(), digest.begin() + salt.size(), salt.begin(),
                       [](std::uint8_t byte) { return static_cast<char>(byte); });
        return salt;
    };
}

Result<SaltFn> sidecar_salts(std::string_view personal) {
    TG_TRY(const Unsealer unsealer, Unsealer::read(personal));
    return SaltFn([salts = unsealer.salts()](std::string_view, std::string_view path) {
        const auto at = salts.find(path);
        return at == salts.end() ? Salt{} : at->second;
    });
}

}  // namespace tollgate
