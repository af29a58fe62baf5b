// Runs a libFuzzer target without libFuzzer: the corpus folder's files, then 1,000 seeded mutations
// of them.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
    std::vector<std::vector<std::uint8_t>> corpus{{}};
    if (argc > 1 && std::filesystem::is_directory(argv[1])) {
        for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
            std::ifstream in(entry.path(), std::ios::binary);
            corpus.emplace_back(std::istreambuf_iterator<char>(in),
                                std::istreambuf_iterator<char>());
        }
    }
    for (const auto& input : corpus) {
        (void)LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    std::mt19937 random(20261201);
    for (int i = 0; i < 1000; ++i) {
        std::vector<std::uint8_t> input = corpus[random() % corpus.size()];
        const std::size_t edits = 1 + random() % 8;
        for (std::size_t e = 0; e < edits; ++e) {
            const auto byte = static_cast<std::uint8_t>(random());
            if (input.empty() || random() % 4 == 0) {
                input.insert(
                    input.begin() + static_cast<std::ptrdiff_t>(random() % (input.size() + 1)),
                    byte);
            } else if (random() % 4 == 0) {
                input.erase(input.begin() + static_cast<std::ptrdiff_t>(random() % input.size()));
            } else {
                input[random() % input.size()] = byte;
            }
        }
        (void)LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    (void)std::printf("corpus %zu, mutations 1000, no crash\n", corpus.size() - 1);
    return 0;
}
