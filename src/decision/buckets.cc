// Reading buckets.json and finding a value's bucket.
#include "decision/buckets.h"

#include <algorithm>
#include <cmath>

#include "text/json.h"
#include "text/utf8.h"

namespace tollgate {

namespace {

Error bad(std::string_view field, const std::string& what) {
    return {Fault::kBadInput, "buckets.json: \"" + printable(field, 60) + "\" " + what};
}

}  // namespace

bool is_bucket_name(std::string_view name) {
    const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
    return !name.empty() && name.size() <= 16 && letter(name.front()) && letter(name.back()) &&
           std::all_of(name.begin(), name.end(),
                       [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Result<Buckets> Buckets::parse(std::string_view json) {
    JsonDocument document({.max_bytes = std::size_t{4} << 20, .max_depth = 8, .max_members = 4096});
    const auto root = document.parse(json);
    if (!root) {
        return Error{Fault::kBadInput, "buckets.json: " + root.error().message};
    }
    const auto fields = root->is(JsonKind::kObject) ? root->find("fields") : std::nullopt;
    const auto version = root->is(JsonKind::kObject) ? root->find("version") : std::nullopt;
    if (!version || !version->is(JsonKind::kInteger) || version->integer() != 1) {
        return Error{Fault::kBadInput, "buckets.json: version is not 1"};
    }
    if (!fields || !fields->is(JsonKind::kObject) || fields->size() > kMaxFields) {
        return Error{Fault::kBadInput, "buckets.json: fields is not an object of at most " +
                                           std::to_string(kMaxFields) + " fields"};
    }
    Buckets out;
    std::optional<Error> fault;
    fields->each_member([&](std::string_view name, const JsonValue& edges) {
        Field field{.name = std::string(name), .edges = {}};
        if (!is_bucket_name(name)) {
            fault = bad(name,
                        "is no field's name: letters and digits, at most 16, a letter first "
                        "and last");
        } else if (!edges.is(JsonKind::kArray) || edges.size() > kMaxEdges) {
            fault = bad(name, "is not a list of at most " + std::to_string(kMaxEdges) + " edges");
        } else {
            edges.each_item([&](const JsonValue& edge) {
                const bool number = edge.is(JsonKind::kInteger) || edge.is(JsonKind::kDouble);
                if (!number || !std::isfinite(edge.number()) ||
                    (!field.edges.empty() && edge.number() <= field.edges.back())) {
                    fault = bad(name, "has edges that are not ascending numbers");
                    return false;
                }
                field.edges.push_back(edge.number());
                return true;
            });
        }
        out.fields_.push_back(std::move(field));
        return !fault;
    });
    if (fault) {
        return *fault;
    }
    std::sort(out.fields_.begin(), out.fields_.end(),
              [](const Field& a, const Field& b) { return a.name < b.name; });
    return out;
}

std::optional<std::size_t> Buckets::find(std::string_view name) const {
    const auto at =
        std::lower_bound(fields_.begin(), fields_.end(), name,
                         [](const Field& field, std::string_view key) { return field.name < key; });
    if (at == fields_.end() || at->name != name) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(at - fields_.begin());
}

std::vector<std::string> Buckets::names() const {
    std::vector<std::string> out;
    out.reserve(fields_.size());
    for (const Field& field : fields_) {
        out.push_back(field.name);
    }
    return out;
}

void Buckets::word(std::size_t field, const double* value, std::string& out) const {
    const Field& of = fields_.at(field);
    out += of.name;
    if (value == nullptr || std::isnan(*value)) {
        out += "na";
        return;
    }
    const auto below = std::lower_bound(of.edges.begin(), of.edges.end(), *value);
    out += std::to_string(below - of.edges.begin());
}

}  // namespace tollgate
