// The bytes behind the embedded packs; the table is generated from policies/ at build time.
#pragma once

#include <cstddef>
#include <span>

namespace tollgate::apps {

struct EmbeddedFile {
    const char* pack;  // folder under policies/
    const char* path;  // inside it
    const unsigned char* data;
    std::size_t size;
};
std::span<const EmbeddedFile> embedded_files();

}  // namespace tollgate::apps
