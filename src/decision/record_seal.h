// Sealing of personal values: a salted hash in the record, the value and its salt in the sidecar,
// and the way back.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "decision/event.h"
#include "decision/record.h"
#include "decision/schema.h"
#include "text/json.h"
#include "text/json_writer.h"

namespace tollgate {

// A field by the path that a record and [privacy] give it: "memo", "counterparty.id",
// "attributes.income".
bool is_personal(const Schema& schema, std::string_view path);

// "sha256:" and 64 hexadecimal digits.
bool is_seal(std::string_view text);

// Writes the sidecar {"memo":{"salt":"<32 hex>","value":"..."},...} of one record as it seals
// values.
class Sealer {
  public:
    Sealer(const SaltFn& salts, std::string_view of) : salts_(salts), of_(of), out_(text_) {}
    // "sha256:" + hex SHA-256(salt bytes, canonical JSON of the value).
    std::string seal(std::string_view path, std::string_view json);
    std::string seal_text(std::string_view path, std::string_view text);
    // The sidecar; empty when nothing was sealed. Call once.
    std::string take();

  private:
    const SaltFn& salts_;
    std::string of_;
    std::string text_;
    JsonWriter out_;
    bool any_ = false;
};

// The event with its personal values replaced by seals. Only for append_event: a sealed attribute
// is a string.
Event sealed_event(const Event& event, const Schema& schema, Sealer& sealer);

// Reads a sidecar and gives the values back.
class Unsealer {
  public:
    // Empty text: everything is erased. kCorrupt when it does not parse.
    static Result<Unsealer> read(std::string_view sidecar);
    // The value's canonical JSON; nullopt when it was erased (the path is then kept in redacted());
    // kCorrupt when value and salt do not give this seal.
    Result<std::optional<std::string>> open(std::string_view path, std::string_view seal);
    std::vector<std::string> take_redacted() { return std::move(redacted_); }
    const std::map<std::string, Salt, std::less<>>& salts() const { return salts_; }

  private:
    std::map<std::string, Salt, std::less<>> salts_;
    std::map<std::string, std::string, std::less<>> values_;  // canonical JSON
    std::vector<std::string> redacted_;
};

// The clear canonical text of a record's event. An erased id keeps its seal; other erased members
// are left out.
Result<std::string> clear_event(const JsonValue& event, const Schema& schema, Unsealer& unsealer);

// A JSON value as JsonWriter writes it (integers, strings, booleans, null, arrays, objects).
void append_json(JsonWriter& out, const JsonValue& json);

}  // namespace tollgate
