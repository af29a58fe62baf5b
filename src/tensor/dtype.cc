// Names and sizes of element types.
#include "tensor/dtype.h"

#include <array>
#include <utility>

#include "base/check.h"

namespace tollgate {

namespace {

struct Known {
    Dtype dtype;
    std::string_view name;
    std::size_t size;
};
constexpr std::array<Known, 10> kKnown = {{{Dtype::kF64, "F64", 8},
                                           {Dtype::kF32, "F32", 4},
                                           {Dtype::kF16, "F16", 2},
                                           {Dtype::kBF16, "BF16", 2},
                                           {Dtype::kI64, "I64", 8},
                                           {Dtype::kI32, "I32", 4},
                                           {Dtype::kI16, "I16", 2},
                                           {Dtype::kI8, "I8", 1},
                                           {Dtype::kU8, "U8", 1},
                                           {Dtype::kBool, "BOOL", 1}}};

const Known& known(Dtype dtype) {
    return kKnown.at(static_cast<std::size_t>(dtype));
}

}  // namespace

std::size_t size_of(Dtype dtype) {
    return known(dtype).size;
}

std::string_view to_text(Dtype dtype) {
    return known(dtype).name;
}

std::optional<Dtype> dtype_named(std::string_view name) {
    for (const Known& at : kKnown) {
        if (at.name == name) {
            return at.dtype;
        }
    }
    return std::nullopt;
}

}  // namespace tollgate
