// Reads the processor's name out of /proc/cpuinfo.
#include "apps/cpu.h"

#include <thread>

#include "apps/cli.h"

namespace tollgate::apps {

std::string cpu_model() {
    constexpr std::size_t kMaxFile = 16U << 20;
    const auto text = read_file("/proc/cpuinfo", kMaxFile);
    if (!text) {
        return "unknown";
    }
    const std::size_t at = text->find("model name");
    const std::size_t colon = at == std::string::npos ? at : text->find(':', at);
    if (colon == std::string::npos) {
        return "unknown";
    }
    const std::size_t begin = text->find_first_not_of(" \t", colon + 1);
    return text->substr(begin, text->find('\n', begin) - begin);
}

std::size_t cpu_threads() {
    return std::thread::hardware_concurrency();
}

}  // namespace tollgate::apps
