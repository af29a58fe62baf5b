// The choice of a table, packing, and the float mode.
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>

#include "kernels/tables.h"

namespace tollgate::kernels {

namespace {

TableChoice avx2_choice() {
    TableChoice choice{.table = nullptr, .name = kAvx2Table.name, .reason = {}};
    // __builtin_cpu_supports asks CPUID and XCR0: what the system does not save counts as missing.
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") == 0) {
        choice.reason = "this processor (or its system) has no avx2";
    } else if (__builtin_cpu_supports("fma") == 0) {
        choice.reason = "this processor (or its system) has no fma";
    } else {
        choice.table = &kAvx2Table;
        choice.reason = "avx2 and fma are there and the system saves their registers";
    }
    return choice;
}

}  // namespace

std::vector<TableChoice> known_tables() {
    return {avx2_choice(),
            {.table = &kRefTable, .name = kRefTable.name, .reason = "runs everywhere"}};
}

std::vector<const KernelTable*> supported_tables() {
    std::vector<const KernelTable*> tables;
    for (const TableChoice& choice : known_tables()) {
        if (choice.table != nullptr) {
            tables.push_back(choice.table);
        }
    }
    return tables;
}

Result<const KernelTable*> choose_table(std::string_view wanted) {
    std::string here;
    for (const KernelTable* table : supported_tables()) {
        if (wanted.empty() || wanted == table->name) {
            return table;
        }
        here += (here.empty() ? "" : ", ") + std::string(table->name);
    }
    for (const TableChoice& choice : known_tables()) {
        if (choice.name == wanted) {
            return Error{Fault::kBadInput, "kernels = " + std::string(wanted) + ": " +
                                               choice.reason + "; this machine runs: " + here};
        }
    }
    return Error{Fault::kBadInput,
                 "kernels = " + std::string(wanted) + " is unknown; this machine runs: " + here};
}

std::size_t attention_scratch(std::size_t positions, std::size_t width) {
    const std::size_t up_positions = panels_of(positions) * kPanel;
    return up_positions * width + positions * panels_of(width) * kPanel + 4 * up_positions;
}

std::size_t packed_f32_floats(std::size_t n, std::size_t k) {
    return panels_of(n) * kPanel * k;
}

void pack_f32(const ConstMatrix& w, float* out) {
    for (std::size_t first = 0; first < w.rows; first += kPanel) {
        for (std::size_t k = 0; k < w.cols; ++k) {
            for (std::size_t lane = 0; lane < kPanel; ++lane) {
                const std::size_t row = first + lane;
                *out++ = row < w.rows ? w.data[row * w.stride + k] : 0.0F;
            }
        }
    }
}

std::size_t packed_s8_bytes(std::size_t n, std::size_t k) {
    return panels_of(n) * kPanel * ((k + 3) / 4 * 4);
}

void pack_s8(const ConstMatrix& w, std::int8_t* out, float* scale) {
    const std::size_t groups = (w.cols + 3) / 4;
    std::fill(out, out + packed_s8_bytes(w.rows, w.cols), std::int8_t{0});
    std::fill(scale, scale + panels_of(w.rows) * kPanel, 0.0F);
    for (std::size_t row = 0; row < w.rows; ++row) {
        const float* from = w.data + row * w.stride;
        float peak = 0.0F;
        for (std::size_t k = 0; k < w.cols; ++k) {
            peak = std::max(peak, std::fabs(from[k]));
        }
        scale[row] = peak / 127.0F;
        std::int8_t* to = out + (row / kPanel) * groups * kPanel * 4 + (row % kPanel) * 4;
        for (std::size_t k = 0; k < w.cols && peak > 0.0F; ++k) {
            const float q = std::nearbyint(from[k] / scale[row]);
            to[(k / 4) * kPanel * 4 + k % 4] =
                static_cast<std::int8_t>(std::min(std::max(q, -127.0F), 127.0F));
        }
    }
}

}  // namespace tollgate::kernels
