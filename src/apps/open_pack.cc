// Loads a pack and turns its findings into one message.
#include "apps/open_pack.h"

#include <utility>
#include <vector>

#include "apps/embedded_pack.h"

namespace tollgate::apps {

Result<std::shared_ptr<const PolicyPack>> open_pack(const std::string& folder,
                                                    const std::string& embedded) {
    PackFiles files;
    if (folder.empty()) {
        files = embedded_pack(embedded);
    } else {
        TG_TRY(files, read_pack_folder(folder));
    }
    std::vector<Diagnostic> findings;
    auto pack = load_pack(std::move(files), findings);
    if (!pack) {
        std::string report;
        for (const Diagnostic& finding : findings) {
            report += format(finding) + "\n";
        }
        return Error{pack.error().fault, report.empty() ? pack.error().message : report};
    }
    return std::shared_ptr<const PolicyPack>(std::move(*pack));
}

}  // namespace tollgate::apps
