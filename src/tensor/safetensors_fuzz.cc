// Any bytes as a .safetensors file: refused, or tensors that lie inside of it.
#include <cstdint>
#include <cstdlib>

#include "tensor/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    const auto read = tollgate::SafetensorsFile::parse(bytes);
    if (!read) {
        return 0;
    }
    for (const auto& tensor : read->tensors()) {
        const bool inside =
            tensor.data.empty() || (tensor.data.data() >= bytes.data() &&
                                    tensor.data.data() + tensor.data.size() <= bytes.data() + size);
        if (!inside || read->find(tensor.name) == nullptr) {
            std::abort();
        }
        (void)tollgate::to_floats(tensor);
    }
    return 0;
}
