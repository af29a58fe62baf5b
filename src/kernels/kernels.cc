// The choice of a table, packing, and the float mode.
#include "kernels/kernels.h"

#include <cpuid.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/aligned.h"
#include "kernels/tables.h"

namespace tollgate::kernels {

namespace {

// One small product and a row operation against ref, tails included: a table that is wrong on this
// machine is not used. Takes microseconds.
bool agrees_with_ref(const KernelTable& table) {
    constexpr std::size_t kRows = 35;
    constexpr std::size_t kOutputs = 100;
    constexpr std::size_t kInner = 70;
    Aligned<float> x(kRows * kInner);
    Aligned<float> w(kOutputs * kInner);
    std::uint32_t state = 1;
    for (Aligned<float>* to : {&x, &w}) {
        for (float& v : *to) {
            state = state * 1664525U + 1013904223U;
            v = static_cast<float>(state >> 8) / 16777216.0F - 0.5F;
        }
    }
    Aligned<std::int8_t> packed(packed_s8_bytes(kOutputs, kInner));
    Aligned<float> scale(panels_of(kOutputs) * kPanel);
    Aligned<std::int32_t> sums(panels_of(kOutputs) * kPanel);
    pack_s8({w.data(), kOutputs, kInner, kInner}, packed.data(), scale.data(), sums.data());
    const auto run = [&](const KernelTable& by) {
        const FloatMode mode;
        const std::size_t stride = quantized_stride(by, kInner);
        Aligned<std::int8_t> q(kRows * stride);
        Aligned<float> q_scale(kRows);
        Aligned<float> y(kRows * kOutputs);
        const QuantizedRows rows{q.data(), q_scale.data(), kRows, kInner, stride};
        by.quantize_rows({x.data(), kRows, kInner, kInner}, rows);
        by.linear_s8(rows, {packed.data(), scale.data(), sums.data(), kOutputs, kInner},
                     {nullptr, Activation::kGeluErf}, {0, panels_of(kOutputs)},
                     {y.data(), kRows, kOutputs, kOutputs});
        return y;
    };
    const Aligned<float> mine = run(table);
    const Aligned<float> reference = run(kRefTable);
    return std::memcmp(mine.data(), reference.data(), mine.size() * sizeof(float)) == 0;
}

void add_if_right(TableChoice& choice, const KernelTable& table, std::string reason) {
    if (agrees_with_ref(table)) {
        choice.table = &table;
        choice.reason = std::move(reason);
    } else {
        choice.reason = "its results differ from ref's on this machine";
    }
}

// CPUID leaf 7: bit 24 of EDX is tiles, 25 tiles of int8.
bool processor_has_tiles() {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    constexpr unsigned kBoth = (1U << 24) | (1U << 25);
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & kBoth) == kBoth;
}

TableChoice amx_choice(const TableChoice& avx512) {
    TableChoice choice{.table = nullptr, .name = kAmxTable.name, .reason = {}};
    if (!processor_has_tiles()) {
        choice.reason = "this processor has no amx-tile with amx-int8";
    } else if (avx512.table == nullptr) {
        choice.reason = "needs avx512: " + avx512.reason;
    } else if (!ask_for_tiles()) {
        choice.reason = "the system refuses the tiles' registers (arch_prctl; Linux 5.16 or newer)";
    } else {
        add_if_right(choice, kAmxTable,
                     "amx-tile and amx-int8 are there and the system allows them");
    }
    return choice;
}

// __builtin_cpu_supports asks CPUID and XCR0: what the system does not save counts as missing.
TableChoice avx512_choice() {
    TableChoice choice{.table = nullptr, .name = kAvx512Table.name, .reason = {}};
    __builtin_cpu_init();
    const std::array<std::pair<const char*, bool>, 5> wanted = {
        {{"avx512f", __builtin_cpu_supports("avx512f") != 0},
         {"avx512bw", __builtin_cpu_supports("avx512bw") != 0},
         {"avx512dq", __builtin_cpu_supports("avx512dq") != 0},
         {"avx512vl", __builtin_cpu_supports("avx512vl") != 0},
         {"avx512vnni", __builtin_cpu_supports("avx512vnni") != 0}}};
    for (const auto& [name, there] : wanted) {
        if (!there) {
            choice.reason +=
                (choice.reason.empty() ? "this processor (or its system) has no " : ", no ") +
                std::string(name);
        }
    }
    if (choice.reason.empty()) {
        add_if_right(
            choice, kAvx512Table,
            "avx512 f, bw, dq, vl and vnni are there and the system saves their registers");
    }
    return choice;
}

TableChoice avx2_choice() {
    TableChoice choice{.table = nullptr, .name = kAvx2Table.name, .reason = {}};
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") == 0) {
        choice.reason = "this processor (or its system) has no avx2";
    } else if (__builtin_cpu_supports("fma") == 0) {
        choice.reason = "this processor (or its system) has no fma";
    } else {
        add_if_right(choice, kAvx2Table,
                     "avx2 and fma are there and the system saves their registers");
    }
    return choice;
}

}  // namespace

std::vector<TableChoice> known_tables() {
    // Asked once: the answers do not change while the process runs.
    static const std::vector<TableChoice> kChoices = [] {
        TableChoice avx512 = avx512_choice();
        TableChoice amx = amx_choice(avx512);
        return std::vector<TableChoice>{
            std::move(amx),
            std::move(avx512),
            avx2_choice(),
            {.table = &kRefTable, .name = kRefTable.name, .reason = "runs everywhere"}};
    }();
    return kChoices;
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
    return up_positions * width + positions * panels_of(width) * kPanel + 6 * up_positions;
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
    return panels_of(n) * kPanel * groups_of(k) * 4;
}

void pack_s8(const ConstMatrix& w, std::int8_t* out, float* scale, std::int32_t* sums) {
    const std::size_t groups = groups_of(w.cols);
    std::fill(out, out + packed_s8_bytes(w.rows, w.cols), std::int8_t{0});
    std::fill(scale, scale + panels_of(w.rows) * kPanel, 0.0F);
    std::fill(sums, sums + panels_of(w.rows) * kPanel, 0);
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
            const auto value = static_cast<std::int8_t>(std::min(std::max(q, -127.0F), 127.0F));
            to[(k / 4) * kPanel * 4 + k % 4] = value;
            sums[row] += value;
        }
    }
}

}  // namespace tollgate::kernels
