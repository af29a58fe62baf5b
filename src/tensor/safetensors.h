// SafetensorsFile: the tensors of a .safetensors file, every length checked before it is believed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"
#include "tensor/mapped_file.h"

namespace tollgate {

// Source: the format's specification (8 bytes little-endian header length, a JSON header, the
// data). Header at most 100 MB, at most 1,000,000 tensors, rank at most 8; the ranges must fill the
// data part without holes or overlaps, as the reference implementation demands.
class SafetensorsFile {
  public:
    struct Tensor {
        std::string name;
        Dtype dtype = Dtype::kF32;
        std::vector<std::size_t> shape;
        std::span<const std::byte> data;
        std::size_t elements() const { return data.size() / size_of(dtype); }
    };

    // kNotFound, or kBadInput that names the tensor and what is wrong with it.
    static Result<SafetensorsFile> open(const std::string& path);
    // The same of bytes that outlive the result.
    static Result<SafetensorsFile> parse(std::span<const std::byte> bytes);

    const Tensor* find(std::string_view name) const;
    const std::vector<Tensor>& tensors() const { return tensors_; }  // in order of their data
    const std::vector<std::pair<std::string, std::string>>& metadata() const { return metadata_; }

  private:
    std::optional<MappedFile> file_;
    std::vector<Tensor> tensors_;
    std::vector<std::size_t> by_name_;  // indices into tensors_, sorted by name
    std::vector<std::pair<std::string, std::string>> metadata_;
};

// F32, F16, BF16 and F64 as float. kBadInput, naming tensor and index, for a value that is not
// finite and for other types.
Result<std::vector<float>> to_floats(const SafetensorsFile::Tensor& tensor);

}  // namespace tollgate
