// Reads the header, believes nothing.
#include "tensor/safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "text/json.h"
#include "text/utf8.h"

namespace tollgate {

namespace {

constexpr std::size_t kMaxHeader = 100'000'000;
constexpr std::size_t kMaxTensors = 1'000'000;
constexpr std::size_t kMaxRank = 8;

Error bad(const std::string& what) {
    return {Fault::kBadInput, "safetensors: " + what};
}
Error bad(std::string_view tensor, const std::string& what) {
    return bad("tensor \"" + printable(tensor, 120) + "\": " + what);
}

Result<std::size_t> size_value(const JsonValue& value) {
    if (value.is(JsonKind::kInteger) && value.integer() >= 0) {
        return static_cast<std::size_t>(value.integer());
    }
    return Error{Fault::kBadInput, "is not a whole number of at most 63 bits"};
}

Result<std::vector<std::size_t>> sizes(std::string_view name, const JsonValue& json,
                                       const char* what, std::size_t most) {
    if (!json.is(JsonKind::kArray) || json.size() > most) {
        return bad(name, std::string(what) + " is not a list of at most " + std::to_string(most) +
                             " numbers");
    }
    std::vector<std::size_t> out;
    out.reserve(json.size());
    bool good = true;
    json.each_item([&](const JsonValue& item) {
        const Result<std::size_t> size = size_value(item);
        good = good && size.has_value();
        out.push_back(size ? *size : 0);
        return good;
    });
    if (!good) {
        return bad(name, std::string(what) +
                             " holds something that is not a whole number of at "
                             "most 63 bits");
    }
    return out;
}

// The bytes that a shape needs; an error when they do not fit 63 bits.
Result<std::size_t> bytes_of(std::string_view name, const std::vector<std::size_t>& shape,
                             Dtype dtype) {
    std::size_t bytes = size_of(dtype);
    const bool empty = std::find(shape.begin(), shape.end(), std::size_t{0}) != shape.end();
    for (const std::size_t n : shape) {
        if (!empty && (__builtin_mul_overflow(bytes, n, &bytes) || bytes > (SIZE_MAX >> 1))) {
            return bad(name, "its shape is larger than memory can be");
        }
    }
    return empty ? 0 : bytes;
}

Status read_tensor(std::string_view name, const JsonValue& json, std::span<const std::byte> data,
                   std::vector<SafetensorsFile::Tensor>& tensors) {
    if (!json.is(JsonKind::kObject)) {
        return bad(name, "is not described by an object");
    }
    const auto dtype = json.find("dtype");
    const auto shape = json.find("shape");
    const auto offsets = json.find("data_offsets");
    if (!dtype || !shape || !offsets || json.size() != 3) {
        return bad(name, "needs exactly dtype, shape and data_offsets");
    }
    SafetensorsFile::Tensor& out = tensors.emplace_back();
    out.name = std::string(name);
    const auto known =
        dtype->is(JsonKind::kString) ? dtype_named(dtype->string()) : std::optional<Dtype>();
    if (!known) {
        return bad(name, "its dtype is not one of F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL");
    }
    out.dtype = *known;
    TG_TRY(out.shape, sizes(name, *shape, "shape", kMaxRank));
    TG_TRY(const std::vector<std::size_t> range, sizes(name, *offsets, "data_offsets", 2));
    TG_TRY(const std::size_t bytes, bytes_of(name, out.shape, out.dtype));
    if (range.size() != 2 || range[1] < range[0]) {
        return bad(name, "its data_offsets do not go from a begin to an end");
    }
    if (range[1] > data.size()) {
        return bad(name, "its data ends at " + std::to_string(range[1]) + ", the file's data at " +
                             std::to_string(data.size()));
    }
    if (range[1] - range[0] != bytes) {
        return bad(name, "its shape needs " + std::to_string(bytes) + " bytes, its data_offsets " +
                             "hold " + std::to_string(range[1] - range[0]));
    }
    out.data = data.subspan(range[0], bytes);
    return ok();
}

Status read_metadata(const JsonValue& json, std::vector<std::pair<std::string, std::string>>& out) {
    bool good = json.is(JsonKind::kObject);
    if (good) {
        json.each_member([&](std::string_view key, const JsonValue& value) {
            good = value.is(JsonKind::kString);
            if (good) {
                out.emplace_back(std::string(key), std::string(value.string()));
            }
            return good;
        });
    }
    if (!good) {
        return bad("__metadata__ is not an object of texts");
    }
    return ok();
}

// In the order of their data, every byte belongs to exactly one tensor.
Status check_layout(std::span<const std::byte> data,
                    const std::vector<SafetensorsFile::Tensor>& tensors) {
    std::size_t at = 0;
    for (const auto& tensor : tensors) {
        const auto begin = static_cast<std::size_t>(tensor.data.data() - data.data());
        if (begin != at) {
            return bad(tensor.name, "its data begins at " + std::to_string(begin) +
                                        ", the tensor before it ends at " + std::to_string(at));
        }
        at += tensor.data.size();
    }
    if (at != data.size()) {
        return bad("the tensors end at " + std::to_string(at) + ", the file's data at " +
                   std::to_string(data.size()));
    }
    return ok();
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> bytes) {
    if (bytes.size() < 8) {
        return bad("the file has " + std::to_string(bytes.size()) + " bytes, its head alone has 8");
    }
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), 8);
    if (header > kMaxHeader || header > bytes.size() - 8) {
        return bad("the header's length is " + std::to_string(header) + ", the file has " +
                   std::to_string(bytes.size()) + " bytes and a header at most " +
                   std::to_string(kMaxHeader));
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, header);
    JsonDocument document({.max_bytes = kMaxHeader, .max_depth = 8, .max_members = kMaxTensors});
    const auto root = document.parse(text);
    if (!root) {
        return bad("the header is no JSON: " + root.error().message);
    }
    if (!root->is(JsonKind::kObject)) {
        return bad("the header is not an object");
    }
    const std::span<const std::byte> data = bytes.subspan(8 + header);
    SafetensorsFile out;
    std::optional<Error> fault;
    root->each_member([&](std::string_view name, const JsonValue& value) {
        if (name == "__metadata__") {
            Status read = read_metadata(value, out.metadata_);
            if (!read) {
                fault = std::move(read).error();
            }
            return !fault;
        }
        Status read = read_tensor(name, value, data, out.tensors_);
        if (!read) {
            fault = std::move(read).error();
        }
        return !fault;
    });
    if (fault) {
        return *fault;
    }
    std::stable_sort(out.tensors_.begin(), out.tensors_.end(),
                     [](const Tensor& a, const Tensor& b) {
                         return a.data.data() != b.data.data() ? a.data.data() < b.data.data()
                                                               : a.data.size() < b.data.size();
                     });
    if (Status laid = check_layout(data, out.tensors_); !laid) {
        return std::move(laid).error();
    }
    out.by_name_.resize(out.tensors_.size());
    for (std::size_t i = 0; i < out.by_name_.size(); ++i) {
        out.by_name_[i] = i;
    }
    std::sort(out.by_name_.begin(), out.by_name_.end(), [&](std::size_t a, std::size_t b) {
        return out.tensors_[a].name < out.tensors_[b].name;
    });
    return out;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
    TG_TRY(MappedFile file, MappedFile::open(path));
    Result<SafetensorsFile> out = parse(file.bytes());
    if (!out) {
        return Error{out.error().fault, path + ": " + out.error().message};
    }
    out->file_ = std::move(file);
    return out;
}

const SafetensorsFile::Tensor* SafetensorsFile::find(std::string_view name) const {
    const auto at = std::lower_bound(
        by_name_.begin(), by_name_.end(), name,
        [this](std::size_t index, std::string_view key) { return tensors_[index].name < key; });
    return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

namespace {

template <class Raw, class Convert>
void convert_all(std::span<const std::byte> data, std::vector<float>& out, Convert convert) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        Raw raw{};
        std::memcpy(&raw, data.data() + i * sizeof(Raw), sizeof(Raw));  // may lie unaligned
        out[i] = convert(raw);
    }
}

}  // namespace

Result<std::vector<float>> to_floats(const SafetensorsFile::Tensor& tensor) {
    std::vector<float> out(tensor.elements());
    switch (tensor.dtype) {
        case Dtype::kF32:
            convert_all<float>(tensor.data, out, [](float v) { return v; });
            break;
        case Dtype::kF16:
            convert_all<std::uint16_t>(tensor.data, out, from_f16);
            break;
        case Dtype::kBF16:
            convert_all<std::uint16_t>(tensor.data, out, from_bf16);
            break;
        case Dtype::kF64:
            convert_all<double>(tensor.data, out, [](double v) { return static_cast<float>(v); });
            break;
        default:
            return bad(tensor.name,
                       "holds " + std::string(to_text(tensor.dtype)) + ", floats are wanted");
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (!std::isfinite(out[i])) {
            return bad(tensor.name, "value " + std::to_string(i) + " is not a finite number");
        }
    }
    return out;
}

}  // namespace tollgate
