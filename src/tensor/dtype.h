// Dtype: the element types of weight files, and 16-bit floats to 32.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tollgate {

enum class Dtype : std::uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };

// Bytes of one element.
std::size_t size_of(Dtype dtype);
// As safetensors spells them: "F32", "BF16", "I8", …; nullopt for others.
std::optional<Dtype> dtype_named(std::string_view name);
std::string_view to_text(Dtype dtype);

// Exact: every 16-bit float has a 32-bit one. IEEE 754-2008 binary16.
inline float from_f16(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1FU;
    const std::uint32_t fraction = bits & 0x3FFU;
    if (exponent == 0x1F) {
        return std::bit_cast<float>(sign | 0x7F800000U | (fraction << 13));
    }
    if (exponent == 0) {  // zero or subnormal: fraction * 2^-24
        const float size = static_cast<float>(fraction) * 0x1p-24F;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(size));
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

inline float from_bf16(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace tollgate
