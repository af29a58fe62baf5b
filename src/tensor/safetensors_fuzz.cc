// Fuzzes tensor/safetensors.h: any bytes give tensors or an error that names something; what was
// accepted lies inside the bytes, side by side, as large as its shape.
#include "base/check.h"
#include "tensor/safetensors.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    const auto file = tollgate::SafetensorsFile::parse(bytes);
    if (!file) {
        TG_CHECK(tollgate::is_valid_utf8(file.error().message), "a message that is not UTF-8");
        TG_CHECK(file.error().message.starts_with("safetensors: "), "an error without a name");
        return 0;
    }
    std::size_t sum = 0;
    for (const auto& tensor : file->tensors()) {
        std::size_t elements = 1;
        for (const std::size_t n : tensor.shape) {
            elements *= n;
        }
        TG_CHECK(elements == tensor.elements(), "a shape that its data does not have");
        TG_CHECK(elements * size_of(tensor.dtype) == tensor.data.size(), "a broken element");
        TG_CHECK(
            tensor.data.empty() || (tensor.data.data() >= bytes.data() &&
                                    tensor.data.data() + tensor.data.size() <= bytes.data() + size),
            "data outside of the file");
        TG_CHECK(file->find(tensor.name) == &tensor, "a tensor that is not found");
        const auto floats = to_floats(tensor);
        TG_CHECK(!floats || floats->size() == elements, "a value is lost");
        sum += tensor.data.size();
    }
    std::uint64_t header = 0;
    for (std::size_t i = 8; i-- > 0;) {
        header = header << 8 | data[i];
    }
    TG_CHECK(sum + header + 8 == size, "bytes that belong to no tensor");
    return 0;
}
