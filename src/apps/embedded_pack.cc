// Copies an embedded folder into the form that load_pack takes.
#include "apps/embedded_pack.h"

#include <string>

#include "apps/embedded_files.h"

namespace tollgate::apps {

PackFiles embedded_pack(std::string_view name) {
    PackFiles files;
    for (const EmbeddedFile& file : embedded_files()) {
        if (name == file.pack) {
            files.emplace(file.path,
                          std::string(reinterpret_cast<const char*>(file.data), file.size));
        }
    }
    return files;
}

}  // namespace tollgate::apps
