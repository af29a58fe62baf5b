// Buckets: a model folder's buckets.json, which cuts each number of an encoder's input into words.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tollgate {

// {"version":1,"fields":{"amt":[12.5,40.0],"memo":[]}}: per field the edges between its buckets,
// ascending. A value's bucket is the number of edges below it. A field without edges is a switch
// (wants("memo")) and has one bucket. Immutable; any thread.
class Buckets {
  public:
    static constexpr std::size_t kMaxFields = 128;
    static constexpr std::size_t kMaxEdges = 256;

    // kBadInput names the field and what is wrong with it.
    static Result<Buckets> parse(std::string_view json);

    std::optional<std::size_t> find(std::string_view name) const;  // an index for word()
    std::vector<std::string> names() const;
    // Appends "amt17"; "amtna" for no value. Found whole in the model's vocabulary.
    void word(std::size_t field, const double* value, std::string& out) const;

  private:
    struct Field {
        std::string name;
        std::vector<double> edges;
    };
    std::vector<Field> fields_;  // sorted by name
};

// Lower-case letters and digits, a letter first and last, at most 16: so that "amt17" reads one
// way.
bool is_bucket_name(std::string_view name);

}  // namespace tollgate
